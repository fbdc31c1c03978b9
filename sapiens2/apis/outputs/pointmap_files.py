"""Files of pointmaps: numbers, depth, camera, point cloud and mesh."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import numpy as np

from sapiens2.apis.outputs.camera import estimate_intrinsics
from sapiens2.apis.outputs.files import write_exr, write_json, write_npz, write_png
from sapiens2.apis.outputs.maps import FRAME, depth_to_millimetres
from sapiens2.apis.outputs.options import OutputOptions

CAMERA_SCHEMA, CAMERA_SCHEMA_VERSION = 'sapiens2/camera', '1.0'


def intrinsics(result: Mapping[str, Any]) -> tuple[Optional[np.ndarray], str]:
    """K of the source image, and where it comes from: 'given' by the user or 'estimated' from the points.

    None if no camera sees the points where they are.
    """
    if result.get('camera') is not None:
        return np.asarray(result['camera'], dtype=np.float64), 'given'
    return estimate_intrinsics(result['pointmap'], result.get('mask')), 'estimated'


def write_points(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write the points, the scale and K; all of K is NaN where none can be estimated."""
    matrix, source = intrinsics(result)
    matrix = np.full((3, 3), np.nan) if matrix is None else matrix
    focal = {'focal': result['focal']} if 'focal' in result else {}
    write_npz(path, {'pointmap': result['pointmap'], 'scale': result['scale'], **focal, 'K': matrix,
                     'K_from': np.array(source)})


def write_camera(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write K as a file that is also an input, see ``read_camera``."""
    matrix, source = intrinsics(result)
    height, width = result['image_size']
    write_json(path, {
        'schema': CAMERA_SCHEMA, 'schema_version': CAMERA_SCHEMA_VERSION, 'width': width, 'height': height,
        'K': None if matrix is None else matrix.tolist(), 'K_from': source,
        'message': 'no camera sees the points where they are' if matrix is None else None})


def write_depth(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write millimetres, 16 bits."""
    write_png(path, depth_to_millimetres(result['pointmap'][..., 2]))


def write_depth_exr(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write metres along the optical axis as channel Z, single precision; 0 where there is none."""
    depth = result['pointmap'][..., 2].astype(np.float32)
    write_exr(path, {'Z': np.where(np.isfinite(depth) & (depth > 0), depth, 0)}, frame=FRAME, unit='metres')
