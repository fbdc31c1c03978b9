"""Make mattes of generated people: python -m projects.matting.prepare_synth SYNTH --out data/matting."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import cv2
import numpy as np
from mmengine.utils import track_iter_progress

from sapiens2.datasets.field_files import read_mask
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_io import read_image, write_image
from sapiens2.utils.image_list import list_images

SPLITS = ('train', 'val')
# What decides the bytes of a data set, written beside it so that nobody adds others by mistake.
SETTINGS = 'settings.json'
_OCTAVES = 5


def shrink(image: np.ndarray, times: int) -> np.ndarray:
    """Means of ``times`` x ``times`` pixels of (H, W, ...) uint8; a rest at the right and at the bottom is cut off."""
    height, width = (side // times for side in image.shape[:2])
    return cv2.resize(image[:height * times, :width * times], (width, height), interpolation=cv2.INTER_AREA)


def noise_background(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """A picture of nothing, (H, W, 3) uint8: coloured noise, the stronger the coarser it is."""
    picture = np.zeros((*size, 3), np.float32)
    for octave in range(_OCTAVES):
        cells = rng.random((2**octave + 1, 2**octave + 1, 3), dtype=np.float32)
        picture += cv2.resize(cells, size[::-1], interpolation=cv2.INTER_CUBIC) * rng.uniform(0.3, 1) / 1.5**octave
    return cv2.normalize(picture, None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)


def write_split(source: Path, out: Path, times: int) -> int:
    """Write images/ and alphas/ of one split, except files that are there; how many images it has.

    A person has hard edges in the generated pictures. The mean of several pixels, of which some are on the person, is a
    composition with exactly the mean of the mask as its opacity.

    Raises:
        ValueError: if a picture and its mask differ in size.
        ImageReadError, DataError: if either cannot be read.
    """
    files = list_images([source / 'images'])
    for file in track_iter_progress(files):
        name = file.relative.with_suffix('.png')
        if (out / 'images' / name).is_file() and (out / 'alphas' / name).is_file():
            continue
        mask = read_mask(str(source / 'masks' / name)) * np.uint8(255)
        image = read_image(file.path)
        if mask.shape != image.shape[:2]:
            raise ValueError(f'{source / "masks" / name} has (H, W) = {mask.shape}, {file.path} has {image.shape[:2]}: '
                             'they must be equal')
        write_image(out / 'images' / name, shrink(image, times))
        write_image(out / 'alphas' / name, shrink(mask, times))
    return len(files)


def claim(out: Path, settings: dict[str, object]) -> None:
    """Note the settings of a new data set, or compare them with those of the one that is there.

    Raises:
        ValueError: if they differ.
    """
    file = out / SETTINGS
    if not file.is_file():
        with atomic_path(file) as partial:
            partial.write_text(json.dumps(settings), encoding='utf-8')
        return
    known = json.loads(file.read_text(encoding='utf-8'))
    if known != settings:
        raise ValueError(f'{file} says that the data there were made with {known}, not with {settings}: use these, or '
                         'another --out')


def main(words: Optional[Sequence[str]] = None) -> int:
    """Read the arguments, and write the data set."""
    parser = argparse.ArgumentParser(description='Make a matting data set of the output of `sapiens2 synth`.')
    parser.add_argument('synth', type=Path, help='folder that `sapiens2 synth` wrote')
    parser.add_argument('--out', type=Path, required=True, help='folder to write; what is there already is kept')
    parser.add_argument('--shrink', type=int, default=2, metavar='TIMES',
                        help='pixels of a side that become one, so that edges are soft (default: 2)')
    parser.add_argument('--backgrounds', type=int, default=200, help='made-up backgrounds to write (default: 200)')
    parser.add_argument('--seed', type=int, default=0, help='of the backgrounds (default: 0)')
    args = parser.parse_args(words)
    if args.shrink < 2:
        parser.error('--shrink must be 2 or more: without it all edges would be hard')
    for split in SPLITS:
        if not (args.synth / split / 'images').is_dir():
            parser.error(f'{args.synth / split / "images"} is no folder: give the folder that `sapiens2 synth` wrote, '
                         'with pictures held out (--val-every)')
    try:
        claim(args.out, {'synth': str(args.synth.resolve()), 'shrink': args.shrink, 'seed': args.seed})
    except ValueError as error:
        parser.error(str(error))
    for split in SPLITS:
        count = write_split(args.synth / split, args.out / split, args.shrink)
        print(f'\n{split}: {count} images')
    for number in range(args.backgrounds):
        file = args.out / 'backgrounds' / f'{number:04d}.png'
        if not file.is_file():
            write_image(file, noise_background((256, 256), np.random.default_rng([args.seed, number])))
    print(f'backgrounds: {args.backgrounds} pictures')
    return 0


if __name__ == '__main__':
    sys.exit(main())
