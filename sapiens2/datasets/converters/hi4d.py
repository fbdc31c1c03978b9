"""Hi4D: pairs of people in close contact, photographed by 8 cameras, with a mesh of each person in each frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Optional

import cv2
import numpy as np

from sapiens2.datasets.converters.base import Converter, Item, held_out
from sapiens2.datasets.converters.render import Camera, Surface, View, load_packages
from sapiens2.datasets.converters.sources import files_by_stem
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.field_files import read_mask
from sapiens2.datasets.numpy_files import open_numpy
from sapiens2.utils.image_io import ImageReadError, read_image
from sapiens2.utils.visible_files import visible_files

_CAMERAS = 'cameras/rgb_cameras.npz'
# The table of the set's documentation misspells the key that its files have.
_INTRINSICS = ('intrinsics', 'intirnsics')
# Where the rendered people and the set's masks agree less, cameras or meshes are not what is assumed.
_LEAST_OVERLAP = 0.8
_EXTENT = (0.5, 6.0)  # metres, of two people together
# Bent less than this by its lens, a photograph is taken over as it is.
_MOST_BEND = 0.5  # pixels


class _Shot(NamedTuple):
    """One photograph: its camera, and its files."""

    camera: str
    intrinsics: np.ndarray
    extrinsics: np.ndarray  # (3, 4), from the world to the camera frame
    distortion: np.ndarray
    image: Path
    mask: Path


class Hi4d(Converter):
    """Each photograph gets normals, depth and camera, rendered of the meshes, and the set's mask of both people.

    Yin et al., "Hi4D: 4D Instance Segmentation of Close Human Interaction", CVPR 2023. The format is that of its
    ``dataset.md``; that extrinsics lead from the world to the camera, in metres and as in OpenCV, is how its viewer
    reads them, and is checked on each photograph by the overlap of rendering and mask.
    """

    NAME = 'hi4d'
    TITLE = 'Hi4D'
    FILES: ClassVar[Mapping[str, str]] = {'normals': '.npz', 'depths': '.npz', 'cameras': '.json', 'masks': '.png',
                                          'images': '.jpg'}
    OPTIONS: ClassVar[Mapping[str, Any]] = {'every': 1, 'val_share': 0.1}

    def items(self, split: str) -> Iterator[Item]:
        """One item a frame of a sequence, with its photographs."""
        load_packages()  # its absence is said before any work
        sequences = sorted(path.parents[1] for path in self.source.glob(f'**/pair*/*/{_CAMERAS}'))
        if not sequences:
            raise DataError(f'{self.source}: no pairXX/actionXX/{_CAMERAS} in it')
        for sequence in sequences:
            if held_out(sequence.parent.name, self.options['val_share']) == (split == 'val'):
                yield from self._frames(split, sequence)

    def _frames(self, split: str, sequence: Path) -> Iterator[Item]:
        cameras = _read_cameras(sequence / _CAMERAS)
        photographs = {camera: files_by_stem(sequence / 'images' / camera) for camera in cameras
                       if (sequence / 'images' / camera).is_dir()}
        if not photographs:
            raise DataError(f'{sequence}/images: holds no folder of a camera in {_CAMERAS}: {", ".join(cameras)}')
        frames = sorted(set().union(*photographs.values()))
        for frame in frames[::self.options['every']]:
            shots = [_Shot(camera, *cameras[camera], files[frame],
                           sequence / 'seg/img_seg_mask' / camera / 'all' / f'{frame}.png')
                     for camera, files in photographs.items() if frame in files]
            names = tuple(f'{sequence.parent.name}/{sequence.name}/{shot.camera}/{frame}' for shot in shots)
            yield Item(split, names, (sequence, frame, shots))

    def convert(self, item: Item) -> list[str]:
        """Render the frame's meshes for all its photographs."""
        sequence, frame, shots = item.sources
        surface, problems = _load(sequence, frame), []
        for name, shot in zip(item.names, shots):
            if not self.sample(item, name).complete():
                try:
                    self._convert(item, name, shot, surface)
                except (DataError, ImageReadError) as error:
                    problems.append(str(error))
        return problems

    def _convert(self, item: Item, name: str, shot: _Shot, surface: Surface) -> None:
        image, mask = read_image(shot.image), read_mask(str(shot.mask)) if shot.mask.is_file() else None
        if mask is None or mask.shape != image.shape[:2]:
            raise DataError(f'{shot.mask}: ' + ('is missing' if mask is None else f'has height, width {mask.shape}')
                            + f'; {shot.image} has {image.shape[:2]}')
        straighten = _straighten(shot, image.shape[:2])
        if straighten is not None:
            image = cv2.remap(image, *straighten, cv2.INTER_LINEAR)
            mask = cv2.remap(mask, *straighten, cv2.INTER_NEAREST)
        view = surface.view(Camera(shot.intrinsics, shot.extrinsics[:, :3], shot.extrinsics[:, 3], mask.shape))
        _check_overlap(view, mask, shot)
        sample = self.sample(item, name)
        sample.array('normals', view.normal.astype(np.float16))
        sample.array('depths', view.depth)
        sample.camera(shot.intrinsics)
        sample.picture('masks', mask * 255)
        if straighten is None:
            sample.take('images', shot.image)
        else:
            sample.picture('images', image)

    def commands(self) -> list[str]:
        """Point maps and normals."""
        return [self.train_command(f'{task}/sapiens2-1b_{task}_folder-1024x768.py') for task in ('pointmap', 'normal')]


def _read_cameras(path: Path) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Camera -> K (3, 3), extrinsics (3, 4), distortion (5,)."""
    with open_numpy(str(path)) as stored:
        values = dict(stored)
    key = next((name for name in _INTRINSICS if name in values), _INTRINSICS[0])
    count = len(values.get('ids', ()))
    shapes = {'ids': (count,), key: (count, 3, 3), 'extrinsics': (count, 3, 4), 'dist_coeffs': (count, 5)}
    for name, shape in shapes.items():
        if name not in values or values[name].shape != shape:
            raise DataError(f'{path}: {name} must have the shape {shape}, it '
                            + (f'has {values[name].shape}' if name in values else 'is missing'))
    return {str(int(number)): (values[key][i].astype(float), values['extrinsics'][i].astype(float),
                               values['dist_coeffs'][i].astype(float)) for i, number in enumerate(values['ids'])}


def _load(sequence: Path, frame: str) -> Surface:
    """The meshes of both people in one frame."""
    vertices, faces, count = [], [], 0
    for folder in visible_files(sequence, 'seg/instance/*'):
        path = folder / f'mesh-f{int(frame):05d}.npz'
        with open_numpy(str(path)) as mesh:
            vertices.append(mesh['vertices'].astype(float))
            faces.append(mesh['faces'].astype(int) + count)
        count += len(vertices[-1])
    if not vertices:
        raise DataError(f'{sequence}/seg/instance: is missing; unpack the instance meshes there')
    low, high = np.concatenate(vertices).min(axis=0), np.concatenate(vertices).max(axis=0)
    if not _EXTENT[0] < (high - low).max() < _EXTENT[1]:
        raise DataError(f'{sequence}, frame {frame}: the meshes extend {(high - low).round(3).tolist()}, which cannot '
                        'be people in metres')
    return Surface(np.concatenate(vertices), np.concatenate(faces))


def _straighten(shot: _Shot, size: tuple[int, int]) -> Optional[tuple[np.ndarray, np.ndarray]]:
    """Maps for ``cv2.remap`` that undo what the lens bends, or None if that is nothing."""
    height, width = size
    columns, rows = cv2.initUndistortRectifyMap(shot.intrinsics, shot.distortion, None, shot.intrinsics,
                                                (width, height), cv2.CV_32FC1)
    bend = np.hypot(columns - np.arange(width), rows - np.arange(height)[:, None]).max()
    return None if bend < _MOST_BEND else (columns, rows)


def _check_overlap(view: View, mask: np.ndarray, shot: _Shot) -> None:
    both, either = (view.mask & (mask > 0)).sum(), (view.mask | (mask > 0)).sum()
    if both < _LEAST_OVERLAP * either or not both:
        raise DataError(f'{shot.image}: the rendered meshes and {shot.mask} overlap by {both / max(either, 1):.2f}, '
                        f'less than {_LEAST_OVERLAP}: the camera or the frame numbers are not as assumed (extrinsics '
                        'from the world to the camera, metres, OpenCV axes)')
