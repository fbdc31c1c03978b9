"""Converters of public data sets to the layouts that the project's configs read."""

from sapiens2.datasets.converters.base import Converter, splits_of
from sapiens2.datasets.converters.celebamask import CelebAMaskHq
from sapiens2.datasets.converters.coco import Coco, CocoWholeBody
from sapiens2.datasets.converters.hi4d import Hi4d
from sapiens2.datasets.converters.human_parsing import Cihp, Lip
from sapiens2.datasets.converters.run import print_summary, run
from sapiens2.datasets.converters.synthhuman import SynthHuman
from sapiens2.datasets.converters.thuman import Thuman

CONVERTERS: dict[str, type[Converter]] = {
    converter.NAME: converter
    for converter in (Coco, CocoWholeBody, Lip, Cihp, CelebAMaskHq, SynthHuman, Thuman, Hi4d)}

__all__ = ['CONVERTERS', 'Converter', 'print_summary', 'run', 'splits_of']
