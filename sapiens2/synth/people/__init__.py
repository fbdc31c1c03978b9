"""People for SynthHumans: bodies, poses, faces, hair and clothes as triangles with labels, materials and key points."""

from sapiens2.synth.people.person import make_person

__all__ = ['make_person']
