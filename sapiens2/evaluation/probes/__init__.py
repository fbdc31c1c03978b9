"""What frozen features tell: neighbours, linear probes, retrieval and pictures of any backbone."""

from sapiens2.evaluation.probes.backbones import BackboneSpec, FeatureModel, build_backbone, parse_backbone
from sapiens2.evaluation.probes.images import ProbeData, ProbeImage, open_data
from sapiens2.evaluation.probes.options import ProbeOptions
from sapiens2.evaluation.probes.run import Machine, probe
from sapiens2.utils.choices import PROBES

__all__ = ['BackboneSpec', 'FeatureModel', 'Machine', 'PROBES', 'ProbeData', 'ProbeImage', 'ProbeOptions',
           'build_backbone', 'open_data', 'parse_backbone', 'probe']
