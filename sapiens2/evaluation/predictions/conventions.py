"""How programs store what they predict: one entry a program, or a kind of file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from sapiens2.utils.choices import OUTPUT_FORMATS

Axes = tuple[int, int, int]
# Kinds of stored depth.
METRES, NEGATED, INVERSE = 'metres', 'negated', 'inverse'
_ARRAYS = ('.npz', '.npy', '.exr')
_PICTURES = ('.png', '.tif', '.tiff', '.webp')
_SAME_CAMERA: Axes = (1, 1, 1)
_Y_UP: Axes = (1, -1, -1)


@dataclass(frozen=True)
class Convention:
    """How one program stores its predictions.

    Attributes:
        says: what is assumed, for people.
        endings: task -> endings of its files after the name of the image, the best first. One that begins with / is
            the name of a file in a folder called as the image.
        together: endings that one result of this program has at once; the best of them is taken. Other files for one
            image are ambiguous.
        axes: signs that turn stored x, y, z of normals and points into the camera frame (x right, y down, z forward).
        picture_axes: the same for normals in pictures, where they are others than those of arrays.
        depth: kind of stored depth.
        names: arrays of an ``.npz`` file, the likeliest first.
        align: alignments without which figures mean nothing; empty where the values are metric.
        srgb: whether albedo is stored on the curve of sRGB.
        camera: array of an ``.npz`` file that holds K besides 'K', pixels.
        pixel_centre: x and y of the centre of the first pixel, as that K counts.
    """

    says: str
    endings: Mapping[str, tuple[str, ...]]
    together: tuple[str, ...] = ()
    axes: Axes = _SAME_CAMERA
    depth: str = METRES
    names: tuple[str, ...] = ('pointmap', 'points', 'depth')
    align: tuple[str, ...] = ()
    srgb: bool = False
    camera: Optional[str] = None
    pixel_centre: float = 0.0
    picture_axes: Optional[Axes] = None


_OWN = tuple(ending for formats in OUTPUT_FORMATS.values() for ending in formats.values() if ending)
_GENERAL = {
    'seg': ('.npz', '.npy', *_PICTURES),
    'normal': ('.npz', '.exr', '.16bit.png', '.npy', *_PICTURES),
    'pointmap': ('.npz', '.exr', '.npy', '.png', '.tif', '.tiff'),
    'albedo': ('.npz', '.exr', '.16bit.png', '.npy', *_PICTURES),
    'pose': ('.json',),
}

CONVENTIONS: dict[str, Convention] = {
    'sapiens2': Convention(
        'Files of `sapiens2 infer`. Camera frame x right, y down, z forward; metres; albedo linear.', _GENERAL, _OWN),
    'opencv': Convention(
        'Axes x right, y down, z forward: a surface that faces the camera has the normal (0, 0, -1). Metres.',
        {task: _GENERAL[task] for task in ('normal', 'pointmap')}),
    'opengl': Convention(
        'Axes x right, y up, z to the viewer: a surface that faces the camera has the normal (0, 0, 1), and a point '
        'before it z < 0. Depth is positive. Metres.',
        {task: _GENERAL[task] for task in ('normal', 'pointmap')}, axes=_Y_UP),
    'srgb': Convention(
        'Albedo on the curve of sRGB, as pictures for screens are.',
        {'albedo': ('.srgb.png', '.npz', '.npy', '.exr', *_PICTURES)}, ('.srgb.png', *_OWN), srgb=True),
    'disparity': Convention(
        'Inverse depth of unknown scale and shift, larger where it is nearer (MiDaS, Depth Anything without metric '
        'heads).', {'pointmap': _GENERAL['pointmap']}, depth=INVERSE, names=('disparity', 'depth'),
        align=('disparity',)),
    'moge': Convention(
        'Folders of `moge infer --maps`: NAME/points.exr (red, green, blue are x, y, z), NAME/depth.exr, '
        'NAME/normal.png. Axes as in OpenCV, in normal.png as in OpenGL. MoGe-1 is right up to a scale, MoGe-2 metric. '
        'Outside its mask points and depth are infinite, normals zero, which 8 bits hold as grey. Or the arrays that '
        '`model.infer` returns, saved under their names as NAME.npz: points, depth, normal.',
        {'pointmap': ('/points.exr', '/depth.exr', '.npz'), 'normal': ('/normal.png', '.npz')},
        ('/points.exr', '/depth.exr'), names=('points', 'depth'), picture_axes=_Y_UP),
    'unidepth': Convention(
        'The arrays that `model.infer` returns, saved under their names as NAME.npz, with or without the axis of the '
        'batch: points (3, H, W), or depth (1, H, W) and intrinsics (3, 3), which count the centre of the first pixel '
        'as 0.5. Camera coordinates as in OpenCV, metric. Points are taken where they are, since the intrinsics are '
        'those that it guesses, even if it was told others.',
        {'pointmap': ('.npz',)}, names=('points', 'depth'), camera='intrinsics', pixel_centre=0.5),
    'david': Convention(
        'The array that `RelativeDepthEstimator.estimate_relative_depth` returns, saved as NAME.npy or NAME.npz, with '
        'its default `is_inverse=True`: relative depth times -1; or those of `MultiTaskEstimator.estimate_all_tasks`, '
        'saved under their names as NAME.npz. Without that sign the fitted scale is negative and the figures are the '
        'same. The axes of its normals are stated nowhere: take opencv or opengl for them.',
        {'pointmap': ('.npy', '.npz')}, depth=NEGATED, names=('depth',),
        align=('scale-shift', 'scale-shift-l1')),
}
