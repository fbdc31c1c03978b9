"""THuman2.0 and 2.1: textured scans of people, rendered from a circle of cameras."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sapiens2.datasets.converters.base import Converter, Item, held_out, number_of
from sapiens2.datasets.converters.render import Camera, Surface, load_packages
from sapiens2.datasets.converters.sources import require
from sapiens2.datasets.errors import DataError
from sapiens2.utils.image_io import read_image

_TEXTURES = ('material0.jpeg', 'material0.jpg', 'material0.png')
# Opening angle of the cameras from top to bottom, and the share of the picture that the person may fill.
_FIELD_OF_VIEW, _FILLED = np.deg2rad(40), 0.9
_GREY = 128  # of the background, which RandomBackground replaces
_AMBIENT = 0.45


class Thuman(Converter):
    """Each scan becomes ``views`` samples with images, normals, depth, cameras, masks and albedo.

    The authors normalised all scans and do not give their true size: each is scaled to ``height`` metres, as is usual
    (180 cm in the renderer of Saito et al., "PIFu", ICCV 2019). Albedo is the scan's texture, in which the light of the
    capture is left. The image is lit by one distant lamp, another in each view, and without shadows. Yu et al.,
    "Function4D", CVPR 2021.
    """

    NAME = 'thuman'
    TITLE = 'THuman2.0 / 2.1'
    FILES: ClassVar[Mapping[str, str]] = {'normals': '.npz', 'depths': '.npz', 'cameras': '.json', 'masks': '.png',
                                          'albedos': '.png', 'images': '.png'}
    OPTIONS: ClassVar[Mapping[str, Any]] = {'views': 8, 'size': (1024, 768), 'height': 1.8, 'val_share': 0.02}

    def items(self, split: str) -> Iterator[Item]:
        """One item a scan: ``0000/0000.obj``."""
        load_packages()  # its absence is said before any work
        scans = _scans(self.source)
        if not scans:
            raise DataError(f'{self.source}: no scan in it; folders such as 0000/0000.obj are expected')
        for scan in scans:
            if held_out(scan.stem, self.options['val_share']) == (split == 'val'):
                names = tuple(f'{scan.stem}/{360 * view / self.options["views"]:05.1f}'.replace('.', '_')
                              for view in range(self.options['views']))
                yield Item(split, names, scan)

    def convert(self, item: Item) -> list[str]:
        """Render the views of a scan."""
        surface = _load(item.sources, self.options['height'])
        for number, name in enumerate(item.names):
            sample = self.sample(item, name)
            if sample.complete():
                continue
            camera = circle(surface.vertices, 2 * np.pi * number / len(item.names), tuple(self.options['size']))
            view = surface.view(camera)
            albedo, covered = surface.colours(camera)
            shade = _AMBIENT + (1 - _AMBIENT) * np.maximum(view.normal @ -_lamp(name), 0)
            image = albedo * shade[..., None] * covered[..., None] + _GREY * (1 - covered[..., None])
            sample.array('normals', view.normal.astype(np.float16))
            sample.array('depths', view.depth)
            sample.camera(camera.intrinsics)
            sample.picture('masks', view.mask.astype(np.uint8) * 255)
            sample.picture('albedos', np.clip(albedo * view.mask[..., None] + 0.5, 0, 255).astype(np.uint8))
            sample.picture('images', np.clip(image + 0.5, 0, 255).astype(np.uint8))
        return []

    def commands(self) -> list[str]:
        """Albedo, point maps and normals."""
        return [self.train_command(f'{task}/sapiens2-1b_{task}_folder-1024x768.py')
                for task in ('albedo', 'pointmap', 'normal')]


def circle(vertices: np.ndarray, angle: float, size: tuple[int, int]) -> Camera:
    """A level camera that looks at the middle of ``vertices`` (y up) from ``angle`` (0: from +z), all in view."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    middle = (low + high) / 2
    radius = np.linalg.norm((vertices - middle)[:, [0, 2]], axis=1).max()
    height, width = size
    focal = height / 2 / np.tan(_FIELD_OF_VIEW / 2)
    distance = radius + max((high - low)[1] / height, 2 * radius / width) * focal / _FILLED
    away = np.array([np.sin(angle), 0, np.cos(angle)])
    rotation = np.stack([[np.cos(angle), 0, -np.sin(angle)], [0, -1, 0], -away])
    intrinsics = np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]])
    return Camera(intrinsics, rotation, -rotation @ (middle + distance * away), size)


def _scans(source: Path) -> list[Path]:
    """All ``NAME/NAME.obj``."""
    return sorted(Path(place, name) for place, _, files in os.walk(source, followlinks=True) for name in files
                  if name.lower().endswith('.obj') and Path(name).stem == Path(place).name)


def _load(scan: Path, height: float) -> Surface:
    """The scan with its texture, ``height`` metres high.

    Raises:
        DataError: naming the file, if it is damaged, has no texture, or does not stand.
    """
    texture = next((path for path in map(scan.parent.joinpath, _TEXTURES) if path.is_file()), None)
    if texture is None:
        require(scan.parent / _TEXTURES[0], f'the texture of {scan}')
    trimesh, _ = load_packages()
    try:
        mesh = trimesh.load_mesh(str(scan), process=False, skip_materials=True)
        vertices, uv = np.asarray(mesh.vertices), mesh.visual.uv
        faces = np.asarray(mesh.faces)
    except Exception as error:  # trimesh raises whatever a damaged file leads to
        raise DataError(f'{scan}: cannot be read as a mesh with texture coordinates: {error!r:.200}') from error
    if uv is None or not np.isfinite(vertices).all() or not len(faces):
        raise DataError(f'{scan}: has no triangles, no texture coordinates, or vertices that are no numbers')
    extent = np.ptp(vertices, axis=0)
    if extent[1] <= 0 or extent[1] < 0.3 * extent.max():
        raise DataError(f'{scan}: its extent is {extent.round(3).tolist()}; y is taken for the upward axis of a person')
    return Surface(vertices * height / extent[1], faces, np.asarray(uv), read_image(texture))


def _lamp(name: str) -> np.ndarray:
    """Direction in which light travels, camera frame: from above and behind the camera, chosen by ``name``."""
    rng = np.random.default_rng(number_of(name))
    direction = np.array([rng.uniform(-0.8, 0.8), rng.uniform(0.1, 0.8), 1.0])
    return direction / np.linalg.norm(direction)
