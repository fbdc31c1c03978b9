"""Files of labels, normals and albedo, and of depth as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sapiens2.apis.outputs.files import write_exr, write_indexed_png, write_json, write_npz, write_png
from sapiens2.apis.outputs.options import OutputOptions
from sapiens2.apis.outputs.people_maps import people_map
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.srgb import encoded
from sapiens2.visualization.maps import distinct_colors, to_levels
from sapiens2.visualization.pictures import class_table

CLASSES_SCHEMA, CLASSES_SCHEMA_VERSION = 'sapiens2/classes', '1.0'
FRAME = 'camera: x right, y down, z forward'


def srgb_levels(light: np.ndarray) -> np.ndarray:
    """Linear values of [0, 1] on the curve of sRGB, uint8."""
    # Through a table: powers of millions of numbers take seconds.
    table = encoded(np.linspace(0, 1, 65_536, dtype=np.float32))
    return to_levels(table)[to_levels(light, np.uint16)]


def depth_to_millimetres(depth: np.ndarray) -> np.ndarray:
    """(H, W) metres to uint16 millimetres; 0 where depth is not finite or not positive."""
    valid = np.isfinite(depth) & (depth > 0)
    return np.where(valid, np.clip(np.rint(np.where(valid, depth, 0) * 1000), 1, 65_535), 0).astype(np.uint16)


def write_labels(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write a palette PNG, and beside the task's folder the table of its classes."""
    classes, palette = class_table(result['dataset_meta'])
    write_indexed_png(path, result['sem_seg'], palette)
    _write_classes(_task_folder(path, stem), classes, palette)


def _task_folder(path: Path, stem: str) -> Path:
    return path.parents[stem.count('/')]


def _write_classes(folder: Path, classes: list[str], palette: list[list[int]]) -> None:
    """DIR/seg_classes.json and .csv, unless they are there."""
    rows = [{'label': label, 'name': name, 'color': [int(value) for value in color]}
            for label, (name, color) in enumerate(zip(classes, palette))]
    table = Path(f'{folder}_classes.csv')
    text = 'label,name,red,green,blue\n' + ''.join(
        f'{row["label"]},"{row["name"]}",{",".join(map(str, row["color"]))}\n' for row in rows)
    if table.is_file() and table.read_text(encoding='utf-8') == text:
        return
    write_json(Path(f'{folder}_classes.json'),
               {'schema': CLASSES_SCHEMA, 'schema_version': CLASSES_SCHEMA_VERSION, 'classes': rows})
    with atomic_path(table) as partial:
        partial.write_bytes(text.encode())


def write_label_numbers(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write labels and the names of the classes."""
    write_npz(path, {'sem_seg': result['sem_seg'], 'classes': np.array(result['dataset_meta']['classes'])},
              compressed=('sem_seg',))


def write_probabilities(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write the probabilities of all classes.

    Raises:
        ValueError: if the result has none.
    """
    if 'seg_probs' not in result:
        raise ValueError(f'{stem}: class probabilities were not predicted; set test_cfg.seg_probs')
    write_npz(path, {'seg_probs': result['seg_probs'], 'classes': np.array(result['dataset_meta']['classes'])})


def _owners(result: Mapping[str, Any], stem: str) -> np.ndarray:
    if 'bboxes' not in result:
        raise ValueError(f'{stem}: label maps of people need to know where the people are: give boxes or a detector')
    return people_map(result['sem_seg'], result['bboxes'])


def write_people(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write whom each pixel belongs to as a palette PNG; one of 16 bits for more than 255 people.

    Raises:
        ValueError: if the result has no boxes.
    """
    owners = _owners(result, stem)
    if len(result['bboxes']) > 255:
        write_png(path, owners)
    else:
        write_indexed_png(path, owners.astype(np.uint8), distinct_colors(len(result['bboxes']) + 1))


def write_people_numbers(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write whom each pixel belongs to, and who these people are.

    Raises:
        ValueError: if the result has no boxes.
    """
    known = {name: np.asarray(result[name]) for name in ('bboxes', 'bbox_scores', 'track_ids') if name in result}
    write_npz(path, {'people': _owners(result, stem), **known}, compressed=('people',))


def write_normal_picture(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write RGB = (n + 1) / 2, 8 or, where the ending says so, 16 bits."""
    write_png(path, to_levels(result['normal'], _depth_of(path), low=-1))


def write_normal_numbers(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write unit vectors in half precision; nothing visible is lost, and a photograph's fill 70 MB else."""
    write_npz(path, {'normal': result['normal'].astype(np.float16)})


def write_normal_exr(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write channels X, Y, Z in half precision."""
    write_exr(path, dict(zip('XYZ', np.moveaxis(result['normal'].astype(np.float16), -1, 0))), frame=FRAME)


def write_albedo_picture(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write the values as they are, linear, 8 or 16 bits."""
    write_png(path, to_levels(result['albedo'], _depth_of(path)), gamma=1.0)


def write_albedo_srgb(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write the values on the curve of sRGB, as screens want them, 8 bits."""
    write_png(path, srgb_levels(result['albedo']), gamma=2.2)


def write_albedo_numbers(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write linear RGB in half precision."""
    write_npz(path, {'albedo': result['albedo'].astype(np.float16)})


def write_albedo_exr(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write linear R, G, B in half precision."""
    write_exr(path, dict(zip('RGB', np.moveaxis(result['albedo'].astype(np.float16), -1, 0))), encoding='linear RGB')


def _depth_of(path: Path) -> type:
    return np.uint16 if path.name.endswith('.16bit.png') else np.uint8
