"""Point clouds as PLY and meshes as GLB, of pointmaps."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.apis.outputs.maps import FRAME
from sapiens2.apis.outputs.options import OutputOptions
from sapiens2.utils.atomic import atomic_path

# A surface is cut where the depth of neighbours differs by more than this share: 12 cm at 3 m.
EDGE = 0.04
# Viewers stay smooth with so many vertices; a larger pointmap is thinned, its texture is not.
MAX_VERTICES = 1_000_000
_JPEG_QUALITY = 90
_ROWS = 16
_BGR = ('blue', 'green', 'red')
_POINT = np.dtype([('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('red', 'u1'), ('green', 'u1'), ('blue', 'u1')])
# Numbers of glTF 2.0: kinds of components, and what a buffer view is for.
_FLOAT, _UNSIGNED_INT, _ARRAY_BUFFER, _ELEMENT_BUFFER = 5126, 5125, 34962, 34963
_TO_GLTF = np.array([1, -1, -1], dtype=np.float32)


def seen_points(pointmap: np.ndarray, mask: Optional[np.ndarray] = None) -> np.ndarray:
    """(H, W) bool: points that are finite, in front of the camera and, where there is one, inside the mask."""
    seen = np.isfinite(pointmap).all(axis=-1) & (pointmap[..., 2] > 0)
    return seen if mask is None else seen & (mask > 0)


def write_ply(path: Path, image: np.ndarray, result: Mapping[str, Any], options: OutputOptions) -> None:
    """Write a point for each pixel seen, with its colour: binary PLY, metres, the camera's frame as it is."""
    pointmap = result['pointmap']
    seen = seen_points(pointmap, result.get('mask'))
    properties = ''.join(f'property {"float" if name in "xyz" else "uchar"} {name}\n' for name in _POINT.names)
    header = (f'ply\nformat binary_little_endian 1.0\ncomment metres; {FRAME}\n'
              f'element vertex {np.count_nonzero(seen)}\n{properties}end_header\n')
    with atomic_path(path) as partial, partial.open('wb') as file:
        file.write(header.encode('ascii'))
        # Few rows at a time, which stay in the processor's cache.
        for start in range(0, len(seen), _ROWS):
            rows = slice(start, start + _ROWS)
            points = np.empty(np.count_nonzero(seen[rows]), dtype=_POINT)
            for values, names in ((pointmap, 'xyz'), (image, _BGR)):
                for column, name in zip(values[rows][seen[rows]].T, names):
                    points[name] = column
            file.write(points.data)


def grid_mesh(pointmap: np.ndarray, seen: np.ndarray, step: int = 1, edge: float = EDGE) \
        -> tuple[np.ndarray, np.ndarray]:
    """A surface through the points of every ``step``-th row and column.

    Triangles lie between neighbours, and are left out where a corner is not seen or their depths are more than the
    share ``edge`` apart, which is where one thing hides another.

    Returns:
        pixels (N, 2) int64, x and y of the vertices that a triangle uses, and triangles (M, 3) uint32, indices into
        them, counter-clockwise as the camera sees them.
    """
    depth = np.where(seen, pointmap[..., 2], np.nan)[::step, ::step]
    index = np.arange(depth.size, dtype=np.uint32).reshape(depth.shape)
    corners = [(slice(None, -1), slice(None, -1)), (slice(1, None), slice(None, -1)),
               (slice(None, -1), slice(1, None)), (slice(1, None), slice(1, None))]
    top_left, low_left, top_right, low_right = range(4)
    triangles = []
    for triangle in ((top_left, low_left, top_right), (top_right, low_left, low_right)):
        depths = [depth[corners[corner]] for corner in triangle]
        near, far = np.minimum.reduce(depths), np.maximum.reduce(depths)
        kept = far <= near * (1 + edge)  # false where one is NaN
        triangles.append(np.stack([index[corners[corner]][kept] for corner in triangle], axis=-1))
    faces = np.concatenate(triangles)
    used = np.zeros(depth.size, dtype=bool)
    used[faces.ravel()] = True
    number = np.cumsum(used, dtype=np.uint32) - 1
    rows, columns = np.nonzero(used.reshape(depth.shape))
    return np.stack([columns, rows], axis=-1) * step, number[faces].astype(np.uint32)


def write_glb(path: Path, image: np.ndarray, result: Mapping[str, Any], options: OutputOptions) -> None:
    """Write the surface with the photograph on it, as binary glTF 2.0, shown without light of its own.

    glTF has y up and looks along -z: (x, y, z) of the camera becomes (x, -y, -z), metres. A picture in which nothing is
    seen gives an empty scene.
    """
    height, width = image.shape[:2]
    pointmap = result['pointmap']
    step = max(1, int(np.ceil(np.sqrt(height * width / MAX_VERTICES))))
    pixels, faces = grid_mesh(pointmap, seen_points(pointmap, result.get('mask')), step)
    points = pointmap[pixels[:, 1], pixels[:, 0]].astype(np.float32) * _TO_GLTF
    # Of a texture, (0, 0) is the outer corner of its first pixel.
    places = ((pixels + 0.5) / (width, height)).astype(np.float32)
    content = _glb(points, places, faces, image) if len(faces) else _container(
        {'asset': _ASSET, 'scene': 0, 'scenes': [{'nodes': []}]}, b'')
    with atomic_path(path) as partial:
        partial.write_bytes(content)


_ASSET = {'version': '2.0', 'generator': 'sapiens2'}


def _glb(points: np.ndarray, places: np.ndarray, faces: np.ndarray, image: np.ndarray) -> bytes:
    texture = cv2.imencode('.jpg', image, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])[1].tobytes()
    body, views = io.BytesIO(), []
    for data, target in ((points.tobytes(), _ARRAY_BUFFER), (places.tobytes(), _ARRAY_BUFFER),
                         (faces.tobytes(), _ELEMENT_BUFFER), (texture, None)):
        views.append({'buffer': 0, 'byteOffset': body.tell(), 'byteLength': len(data),
                      **({} if target is None else {'target': target})})
        body.write(data)
        body.write(bytes(-len(data) % 4))
    accessors = [
        {'bufferView': 0, 'componentType': _FLOAT, 'count': len(points), 'type': 'VEC3',
         'min': points.min(axis=0).tolist(), 'max': points.max(axis=0).tolist()},
        {'bufferView': 1, 'componentType': _FLOAT, 'count': len(places), 'type': 'VEC2'},
        {'bufferView': 2, 'componentType': _UNSIGNED_INT, 'count': faces.size, 'type': 'SCALAR'}]
    return _container({
        'asset': _ASSET, 'scene': 0, 'scenes': [{'nodes': [0]}], 'nodes': [{'mesh': 0, 'name': 'pointmap'}],
        'meshes': [{'primitives': [{'attributes': {'POSITION': 0, 'TEXCOORD_0': 1}, 'indices': 2, 'material': 0}]}],
        'materials': [{'pbrMetallicRoughness': {'baseColorTexture': {'index': 0}, 'metallicFactor': 0,
                                                'roughnessFactor': 1},
                       'doubleSided': True, 'extensions': {'KHR_materials_unlit': {}}}],
        'extensionsUsed': ['KHR_materials_unlit'], 'textures': [{'source': 0, 'sampler': 0}],
        # Linear, and no repetition at the edges.
        'samplers': [{'magFilter': 9729, 'minFilter': 9729, 'wrapS': 33071, 'wrapT': 33071}],
        'images': [{'bufferView': 3, 'mimeType': 'image/jpeg'}], 'accessors': accessors, 'bufferViews': views,
        'buffers': [{'byteLength': body.tell()}]}, body.getvalue())


def _container(document: Mapping[str, Any], body: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b' ' * (-len(text) % 4)
    chunks = struct.pack('<I4s', len(text), b'JSON') + text
    if body:
        chunks += struct.pack('<I4s', len(body), b'BIN\0') + body
    return struct.pack('<4sII', b'glTF', 2, 12 + len(chunks)) + chunks
