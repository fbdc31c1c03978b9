"""CelebAMask-HQ: parts of faces, one PNG a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import cv2
import numpy as np

from sapiens2.datasets.converters import label_tables
from sapiens2.datasets.converters.base import Converter, Item
from sapiens2.datasets.converters.sources import files_by_stem, find, read_names
from sapiens2.datasets.errors import DataError
from sapiens2.utils.image_io import read_image, read_raster
from sapiens2.utils.visible_files import visible_files

_MAPPING = 'CelebA-HQ-to-CelebA-mapping.txt'
# First numbers of CelebA's validation and test photographs, which make the splits of g_partition.py of the authors.
_FIRST_VAL, _FIRST_TEST = 162771, 182638


class CelebAMaskHq(Converter):
    """Part masks of 512 x 512 are painted over each other and enlarged to the photograph of 1024 x 1024.

    Lee et al., "MaskGAN: Towards Diverse and Interactive Facial Image Manipulation", CVPR 2020.
    """

    NAME = 'celebamask-hq'
    TITLE = 'CelebAMask-HQ'
    SPLITS = ('train', 'val', 'test')
    FILES: ClassVar[Mapping[str, str]] = {'labels': '.png', 'images': '.jpg'}

    def items(self, split: str) -> Iterator[Item]:
        """One item a photograph of the authors' split."""
        images = files_by_stem(find(self.source, 'CelebA-HQ-img', what='the folder of photographs'))
        masks = find(self.source, 'CelebAMask-HQ-mask-anno', what='the folder of part masks')
        splits = _splits(find(self.source, _MAPPING, what='the file that numbers the photographs in CelebA'))
        parts = _parts(masks)
        for name, image in sorted(images.items(), key=lambda pair: pair[0].zfill(8)):
            if name not in splits:
                raise DataError(f'{image}: its number is not in {_MAPPING}, so its split is unknown')
            if splits[name] == split:
                yield Item(split, (name.zfill(5),), (image, parts.get(name.zfill(5), {})))

    def convert(self, item: Item) -> list[str]:
        """Paint the parts in the order of the table; the photograph is taken over unchanged."""
        image, parts = item.sources
        if not parts:
            raise DataError(f'{image}: has no part mask ({item.names[0]}_skin.png and so on)')
        height, width = read_image(image).shape[:2]
        labels = None
        for part, label in label_tables.targets(label_tables.CELEBAMASK).items():
            if part in parts:
                mask = _read_part(parts[part])
                labels = np.zeros(mask.shape, np.uint8) if labels is None else labels
                if mask.shape != labels.shape:
                    raise DataError(f'{parts[part]}: has height, width {mask.shape}, other parts have {labels.shape}')
                labels[mask] = label
        if height * labels.shape[1] != width * labels.shape[0]:
            raise DataError(f'{image}: has height, width {(height, width)}, its part masks have {labels.shape}, which '
                            'is another shape')
        sample = self.sample(item, item.names[0])
        sample.picture('labels', cv2.resize(labels, (width, height), interpolation=cv2.INTER_NEAREST_EXACT))
        sample.take('images', image)
        return []

    def commands(self) -> list[str]:
        """Segmentation into 29 classes."""
        return [self.train_command('seg/sapiens2-1b_seg_folder-1024x768.py')]


def _splits(mapping: Path) -> dict[str, str]:
    """Number of a photograph -> its split."""
    splits = {}
    for line in read_names(mapping)[1:]:
        words = line.split()
        if len(words) != 3 or not (words[0].isdigit() and words[1].isdigit()):
            raise DataError(f'{mapping}: {line!r:.60} does not read "index original_index original_file"')
        original = int(words[1])
        splits[words[0]] = 'train' if original < _FIRST_VAL else 'val' if original < _FIRST_TEST else 'test'
    return splits


def _parts(masks: Path) -> dict[str, dict[str, Path]]:
    """Five-digit number of a photograph -> name of a part -> its file.

    Raises:
        DataError: for a part that the table lacks.
    """
    found: dict[str, dict[str, Path]] = {}
    for path in visible_files(masks, '*/*.png'):
        number, _, part = path.stem.strip().partition('_')
        if part not in label_tables.CELEBAMASK:
            raise DataError(f'{path}: {part!r} is no known part: {", ".join(label_tables.CELEBAMASK)}')
        found.setdefault(number, {})[part] = path
    return found


def _read_part(path: Path) -> np.ndarray:
    """(H, W) bool: where any channel is not 0; the masks are stored as grey or as RGB."""
    mask = read_raster(path, exact=True)
    return mask > 0 if mask.ndim == 2 else mask[..., :3].any(axis=2)
