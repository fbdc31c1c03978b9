"""From a result to its files: which function writes which format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sapiens2.apis.outputs import geometry_files, maps, pointmap_files, pose_files
from sapiens2.apis.outputs.options import FIELD_OF_TASK, PICTURE_ENDING, OutputOptions
from sapiens2.utils.choices import OUTPUT_FORMATS
from sapiens2.utils.image_io import write_image
from sapiens2.visualization.layout import beside, fit_square
from sapiens2.visualization.pictures import draw_field, draw_people

# A larger picture cannot be saved as JPEG, and is shrunk.
_MAX_JPEG_SIDE = 65_500
# Task and format -> what writes it, given path, result, options and the name of the image's results.
_WRITERS: dict[tuple[str, str], Callable[[Path, Mapping[str, Any], OutputOptions, str], None]] = {
    ('pose', 'json'): pose_files.write_pose,
    ('pose', 'openpose'): pose_files.write_openpose,
    ('seg', 'png'): maps.write_labels,
    ('seg', 'npz'): maps.write_label_numbers,
    ('seg', 'soft'): maps.write_probabilities,
    ('seg', 'people'): maps.write_people,
    ('seg', 'people-npz'): maps.write_people_numbers,
    ('normal', 'png'): maps.write_normal_picture,
    ('normal', 'png16'): maps.write_normal_picture,
    ('normal', 'npz'): maps.write_normal_numbers,
    ('normal', 'exr'): maps.write_normal_exr,
    ('pointmap', 'png'): pointmap_files.write_depth,
    ('pointmap', 'npz'): pointmap_files.write_points,
    ('pointmap', 'exr'): pointmap_files.write_depth_exr,
    ('pointmap', 'camera'): pointmap_files.write_camera,
    ('albedo', 'png'): maps.write_albedo_picture,
    ('albedo', 'png16'): maps.write_albedo_picture,
    ('albedo', 'srgb'): maps.write_albedo_srgb,
    ('albedo', 'npz'): maps.write_albedo_numbers,
    ('albedo', 'exr'): maps.write_albedo_exr,
}
# Format of pointmaps -> what writes it with the photograph's colours, given path, image, result and options.
_COLOURED: dict[str, Callable[[Path, np.ndarray, Mapping[str, Any], OutputOptions], None]] = {
    'ply': geometry_files.write_ply, 'glb': geometry_files.write_glb}


def result_picture(image: np.ndarray, result: Mapping[str, Any], score_thr: float = 0.3) -> np.ndarray:
    """What a person looks at: (H', W', 3) BGR.

    Args:
        image: (H, W, 3) uint8 BGR source image.
        score_thr: key points with a lower score are left out.
    """
    if result['task'] == 'pose':
        return draw_people(image, result, score_thr, result['dataset_meta'])
    field = FIELD_OF_TASK[result['task']]
    picture = draw_field(field, image, result[field], dataset_meta=result['dataset_meta'])
    return picture if field == 'sem_seg' else beside([image, picture])


def result_files(folder: Path, stem: str, task: str, options: OutputOptions) -> list[Path]:
    """The files that ``write_result`` writes, in its order."""
    endings = [ending for name in options.formats(task) if (ending := OUTPUT_FORMATS[task][name]) is not None]
    return [Path(f'{folder / task / stem}{ending}')
            for ending in (*endings, *([PICTURE_ENDING] if options.picture else ()))]


def write_result(folder: Path, stem: str, image: np.ndarray, result: Mapping[str, Any],
                 options: OutputOptions = OutputOptions()) -> list[Path]:
    """Write the files of one result and return them.

    Args:
        folder: output folder; the task's own is made below it.
        stem: name of the image's results, '/' between folders.
        image: (H, W, 3) uint8 BGR source image.
        result: as ``Sapiens2Inferencer`` makes it, without error.

    Raises:
        OSError: if a file cannot be written.
        ValueError: if the result lacks what a format is made of.
        ImportError: if a format needs a package that is not installed.
    """
    task = result['task']
    files = result_files(folder, stem, task, options)
    names = [name for name in options.formats(task) if OUTPUT_FORMATS[task][name] is not None]
    for name, path in zip(names, files):
        if name in _COLOURED:
            _COLOURED[name](path, image, result, options)
        else:
            _WRITERS[task, name](path, result, options, stem)
    if options.picture:
        drawn = result_picture(image, result, options.score_thr)
        write_image(files[-1], fit_square(drawn, min(max(drawn.shape[:2]), _MAX_JPEG_SIDE)))
    return files
