"""What a folder of generated samples holds: classes and key points, counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.synth.folder import SynthFolder
from sapiens2.utils.image_io import read_labels


def statistics_of(folder: SynthFolder) -> dict[str, Any]:
    """Counts over all listed samples.

    Returns:
        'samples' and 'people'; 'classes': of each of the 29 the share of samples with it and its mean share of all
        pixels and of people's, percent; 'keypoints': of each of the 308 how many people show it, have it hidden and
        have it outside, percent.
    """
    meta, names = load_metainfo('seg29'), list(load_metainfo('sapiens308')['keypoint_names'])
    count = len(meta['classes'])
    with_class, share, of_people = np.zeros(count), np.zeros(count), np.zeros(count)
    visibility = np.zeros((len(names), 3))
    samples = people = 0
    for labels, persons in _samples(folder):
        pixels = np.bincount(labels.ravel(), minlength=count)
        with_class += pixels > 0
        share += pixels / labels.size
        of_people += pixels / max(pixels[1:].sum(), 1)
        samples += 1
        for person in persons:
            visibility[np.arange(len(names)), np.array(person['keypoints'])[:, 2].astype(int)] += 1
            people += 1
    classes = {name: {'samples_percent': 100 * with_class[i] / max(samples, 1),
                      'pixels_percent': 100 * share[i] / max(samples, 1),
                      'of_people_percent': 100 * of_people[i] / max(samples, 1) if i else 0.0}
               for i, name in enumerate(meta['classes'])}
    keypoints = {name: dict(zip(('outside', 'hidden', 'visible'), (100 * visibility[i] / max(people, 1)).tolist()))
                 for i, name in enumerate(names)}
    return {'samples': samples, 'people': people, 'classes': classes, 'keypoints': keypoints}


def markdown_of(statistics: dict[str, Any]) -> str:
    """Tables of classes and of groups of key points, with the point of each group that is visible least."""
    lines = [f'{statistics["samples"]} samples, {statistics["people"]} people.', '',
             '| class | in samples, % | of all pixels, % | of people\'s pixels, % |', '|---|---:|---:|---:|']
    for name, row in statistics['classes'].items():
        lines.append(f'| {name} | {row["samples_percent"]:.1f} | {row["pixels_percent"]:.2f} | '
                     f'{row["of_people_percent"]:.2f} |')
    lines += ['', '| key points | number | visible, % | hidden, % | outside, % | least visible |',
              '|---|---:|---:|---:|---:|---|']
    points = list(statistics['keypoints'].items())
    for group, indices in load_metainfo('sapiens308')['groups'].items():
        rows = [points[i][1] for i in indices]
        means = [np.mean([row[state] for row in rows]) for state in ('visible', 'hidden', 'outside')]
        name, least = min((points[i] for i in indices), key=lambda point: point[1]['visible'])
        lines.append(f'| {group} | {len(indices)} | ' + ' | '.join(f'{mean:.1f}' for mean in means)
                     + f' | {name}: {least["visible"]:.1f} % |')
    return '\n'.join(lines)


def _samples(folder: SynthFolder) -> Iterator[tuple[np.ndarray, list[dict[str, Any]]]]:
    """Labels (H, W) and people of each listed sample."""
    for record in folder.records():
        index = record['index']
        yield read_labels(folder.path(index, 'labels')), read_json(str(folder.path(index, 'people')))['people']
