"""Finds the file of each image's prediction by the image's path."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Optional

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.evaluation.predictions.conventions import Convention
from sapiens2.utils.image_list import walk_folder

# What is done about an image without prediction, in place of leaving it out.
ERROR = 'error'
# Files of ``sapiens2 infer`` that lie beside the results and are none.
_OTHERS = ('.soft.npz', '.people.png', '.people.npz', '.picture.jpg', '.camera.json', '.openpose_keypoints.json',
           '.srgb.png', '.16bit.png')


def task_folder(folder: Path, task: str) -> Path:
    """``folder/TASK`` if there is one, as in the output of ``sapiens2 infer``, else ``folder``."""
    return folder / task if (folder / task).is_dir() else folder


def image_stems(dataset: Any) -> dict[str, str]:
    """Images of a data set: path -> path below the folder of the images, without ending, '/' between folders."""
    root = (getattr(dataset, 'data_prefix', None) or {}).get('img_path', '')
    stems: dict[str, str] = {}
    for index in range(len(dataset)):
        path = dataset.get_data_info(index)['img_path']
        if path not in stems:
            relative = os.path.relpath(path, root or '.')
            stems[path] = PurePosixPath(Path(relative).with_suffix('').as_posix()).as_posix()
    return stems


def match_files(folder: Path, convention: Convention, task: str, images: Mapping[str, str],
                ending: Optional[str] = None) -> dict[str, Optional[str]]:
    """The file of each image's prediction, None where there is none.

    A prediction has the image's path below the folder of the images, or the end of that path, or, where it lies deeper
    than the image, its name.

    Args:
        folder: where the predictions are.
        convention: how they are called.
        task: what they are of.
        images: of ``image_stems``.
        ending: the only one that is looked at.

    Raises:
        DataError: naming two files for one image, or two images for one file.
    """
    endings = (ending.lower(),) if ending else convention.endings[task]
    by_stem = _files_by_stem(folder, endings)
    by_name: dict[str, list[str]] = {}
    for stem in by_stem:
        by_name.setdefault(stem.rpartition('/')[2], []).append(stem)
    found: dict[str, Optional[str]] = {}
    owners: dict[str, str] = {}
    for image, stem in images.items():
        key = _key(image, stem, by_stem, by_name)
        found[image] = None if key is None else _best(image, by_stem[key], endings, convention.together)
        if key is not None and owners.setdefault(key, image) != image:
            raise DataError(Fault(Kind.AMBIGUOUS, found[image], f'is the prediction of {image} and of {owners[key]}',
                                  '', "store predictions under the image's path below the folder of the images"))
    return found


def _files_by_stem(folder: Path, endings: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Stem -> (ending, path) of each of its files."""
    longest = sorted(endings, key=len, reverse=True)
    ignored = tuple(other for other in _OTHERS if other not in endings)
    by_stem: dict[str, list[tuple[str, str]]] = {}
    for place, names in walk_folder(folder):
        for name in sorted(names):
            path = os.path.join(place, name)
            relative = Path(path).relative_to(folder).as_posix()
            ending = next((ending for ending in longest if relative.lower().endswith(ending)), None)
            if ending is not None and not relative.lower().endswith(ignored):
                by_stem.setdefault(relative[:-len(ending)], []).append((ending, path))
    return by_stem


def _key(image: str, stem: str, by_stem: Mapping[str, Any], by_name: Mapping[str, list[str]]) -> Optional[str]:
    """The stem of a prediction that is meant by an image's ``stem``."""
    parts = [part for part in stem.split('/') if part != '..']
    for start in range(len(parts)):
        if (end := '/'.join(parts[start:])) in by_stem:
            return end
    same = by_name.get(parts[-1], [])
    if len(same) > 1:
        raise DataError(Fault(Kind.AMBIGUOUS, image, f'{len(same)} predictions have its name: {", ".join(same[:3])}',
                              '', "store predictions under the image's path below the folder of the images"))
    return same[0] if same else None


def _best(image: str, files: Iterable[tuple[str, str]], endings: Sequence[str], together: Sequence[str]) -> str:
    files = sorted(files, key=lambda file: endings.index(file[0]))
    kinds = [ending for ending, _ in files]
    if len(files) > 1 and not (len(set(kinds)) == len(kinds) and set(kinds) <= set(together)):
        raise DataError(Fault(Kind.AMBIGUOUS, image, 'several files could be its prediction: '
                              + ', '.join(path for _, path in files), '', 'remove all but one, or name its ending with '
                              f'--ending {files[0][0]}'))
    return files[0][1]


def check_missing(missing: list[str], images: int, folder: Path, endings: Iterable[str], policy: str,
                  counts: dict[str, int]) -> None:
    """Count images without prediction.

    Raises:
        DataError: naming the first, unless they are to be left out.
    """
    counts['missing_images'] = len(missing)
    if missing and policy == ERROR:
        raise DataError(Fault(Kind.NO_GROUND_TRUTH, missing[0], f'has no prediction in {folder}; {len(missing)} of '
                              f'{images} images have none', '', 'expected is the same path and name, with an ending '
                              f'of {" ".join(endings)}; --missing skip leaves these images out and counts them'))
