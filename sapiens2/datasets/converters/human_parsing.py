"""LIP and CIHP: body parts and clothes of people, one label map a photograph."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Optional

import numpy as np

from sapiens2.datasets.converters import label_tables
from sapiens2.datasets.converters.base import Converter, Item
from sapiens2.datasets.converters.sources import files_by_stem, find, find_all, read_names, require
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.field_files import read_sem_seg
from sapiens2.datasets.label_table import LabelTable
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.utils.image_io import read_image, read_labels
from sapiens2.utils.visible_files import visible_files

# Label maps that are read to judge the sides, how many must show face and shoes, and the share that must agree.
_READ, _FEWEST_JUDGED, _LEAST_AGREEING = 500, 20, 0.5


class HumanParsing(Converter):
    """A photograph and its label map become an image and a map of our 29 classes."""

    FILES: ClassVar[Mapping[str, str]] = {'labels': '.png', 'images': '.jpg'}
    TABLE: ClassVar[Mapping[str, Optional[str]]]

    @abstractmethod
    def folders(self, split: str) -> tuple[Path, Path, list[Path]]:
        """Folder of the photographs, folder of the label maps, and the lists of the split, of which there may be none.
        """

    def items(self, split: str) -> Iterator[Item]:
        """One item a photograph that the split's list names, or that there is when there is no list."""
        images, labels, lists = self.folders(split)
        files = files_by_stem(images)
        names = [Path(name).stem for name in read_names(lists[0])] if lists else list(files)
        for name in names:
            yield Item(split, (name,), (files.get(name, images / f'{name}.jpg'), labels / f'{name}.png'))

    def convert(self, item: Item) -> list[str]:
        """Map the labels; the photograph is taken over unchanged."""
        image, labels = item.sources
        require(image, 'the list of the split names it')
        require(labels, f'the label map of {image}')
        table = LabelTable.build(label_tables.COUNT, dict(enumerate(label_tables.targets(self.TABLE).values())))
        mapped = read_sem_seg(str(labels), table)
        shape = read_image(image).shape[:2]
        if mapped.shape != shape:
            raise DataError(f'{labels}: has height, width {mapped.shape}, {image} has {shape}')
        sample = self.sample(item, item.names[0])
        sample.picture('labels', mapped)
        sample.take('images', image)
        return []

    def finish(self, split: str) -> list[str]:
        """Judge by shoes whether left is the person's own, as all our tables assume.

        Of people who show their face, most face the camera: their own left is on the right of the picture.
        """
        classes = load_metainfo('seg29')['classes']
        face, left, right = (classes.index(name) for name in ('Face_Neck', 'Left_Shoe', 'Right_Shoe'))
        agree = []
        for path in visible_files(self.place(split, 'labels'), '*.png')[:_READ]:
            labels = read_labels(path)
            columns = [np.nonzero(labels == label)[1] for label in (face, left, right)]
            if all(len(column) for column in columns):
                agree.append(columns[1].mean() > columns[2].mean())
        if len(agree) < _FEWEST_JUDGED or np.mean(agree) > _LEAST_AGREEING:
            return []
        return [f'{self.source}: left and right shoes lie crosswise in {len(agree) - sum(agree)} of {len(agree)} '
                'photographs with a face: the labels seem to be those of the viewer, where the person\'s own are '
                'expected. Train without flips, or correct the source']

    def commands(self) -> list[str]:
        """Segmentation into 29 classes."""
        return [self.train_command('seg/sapiens2-1b_seg_folder-1024x768.py')]


class Lip(HumanParsing):
    """LIP, single person: Gong et al., "Look into Person", CVPR 2017."""

    NAME = 'lip'
    TITLE = 'LIP'
    TABLE = label_tables.LIP

    def folders(self, split: str) -> tuple[Path, Path, list[Path]]:
        """``TrainVal_images/train_images``, ``TrainVal_parsing_annotations/train_segmentations``, ``train_id.txt``."""
        return (find(self.source, f'{split}_images', what=f'the folder of LIP\'s {split} photographs'),
                find(self.source, f'{split}_segmentations', what=f'the folder of LIP\'s {split} label maps'),
                find_all(self.source, f'{split}_id.txt'))


class Cihp(HumanParsing):
    """CIHP: Gong et al., "Instance-level Human Parsing via Part Grouping Network", ECCV 2018."""

    NAME = 'cihp'
    TITLE = 'CIHP'
    TABLE = label_tables.CIHP
    _FOLDERS: ClassVar[Mapping[str, str]] = {'train': 'Training', 'val': 'Validation'}

    def folders(self, split: str) -> tuple[Path, Path, list[Path]]:
        """``Training/Images``, ``Training/Category_ids``, ``Training/train_id.txt``."""
        names = (self._FOLDERS[split], split)
        images = find(self.source, *(f'{name}/Images' for name in names), what=f'the folder of CIHP\'s {split} images')
        return (images, find(images.parent, 'Category_ids', what='the folder of label maps'),
                find_all(images.parent, f'{split}_id.txt'))
