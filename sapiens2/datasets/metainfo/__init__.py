"""Tables of key points and classes: the JSON facts of this folder, with every name resolved to an index."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Union

from sapiens2.utils.suggest import UnknownNameError, unknown_name

# The 17 points of COCO, in its order; the 308 use the same names.
COCO17_NAMES = (
    'nose', 'left_eye', 'right_eye', 'left_ear', 'right_ear', 'left_shoulder', 'right_shoulder', 'left_elbow',
    'right_elbow', 'left_wrist', 'right_wrist', 'left_hip', 'right_hip', 'left_knee', 'right_knee', 'left_ankle',
    'right_ankle')
IGNORE_LABEL = 255
# Number of key points -> name of their table.
TABLE_OF_COUNT = {308: 'sapiens308', 17: 'coco'}


def _read_json(file_name: str) -> dict[str, Any]:
    return json.loads((Path(__file__).parent / file_name).read_text(encoding='utf-8'))


def _indices(names: Sequence[str], index: dict[str, int], field: str) -> list[int]:
    """Indices of ``names``; a name that ``index`` lacks is an error that names ``field``."""
    for name in names:
        if name not in index:
            raise UnknownNameError(f'{field}: ' + unknown_name(name, index, 'key point'))
    return [index[name] for name in names]


def _sapiens308() -> dict[str, Any]:
    """All 308 points: body 17, feet 6, hands 20 each, face 238, 7 more."""
    table = _read_json('keypoints308.json')
    points = table['keypoints']
    names = [point['name'] for point in points]
    index = {name: i for i, name in enumerate(names)}
    return {
        'dataset_name': 'sapiens308',
        'keypoint_names': names,
        'flip_indices': _indices([point['swap'] or point['name'] for point in points], index, 'swap'),
        'sigmas': table['sigmas'],
        'joint_weights': table['joint_weights'],
        'keypoint_colors': [point['color'] for point in points],
        'skeleton_links': [_indices(line['link'], index, 'skeleton') for line in table['skeleton']],
        'skeleton_link_colors': [line['color'] for line in table['skeleton']],
        'groups': {group: _indices(members, index, group) for group, members in table['groups'].items()},
        'upper_body_ids': [i for i, point in enumerate(points) if point['type'] == 'upper'],
        'lower_body_ids': [i for i, point in enumerate(points) if point['type'] == 'lower'],
        'coco17_indices': _indices(COCO17_NAMES, index, 'COCO'),
        'wholebody133_to_308': {int(source): target for source, target in table['coco_wholebody_to_308'].items()},
        'min_visible_keypoints': table['min_visible_keypoints'],
    }


def _coco17() -> dict[str, Any]:
    """The 17 points of COCO, in its order, cut out of the 308."""
    whole = _sapiens308()
    kept = whole['coco17_indices']
    index = {old: new for new, old in enumerate(kept)}
    links = [(link, color) for link, color in zip(whole['skeleton_links'], whole['skeleton_link_colors'])
             if set(link) <= set(kept)]
    return {
        'dataset_name': 'coco',
        **{field: [whole[field][i] for i in kept]
           for field in ('keypoint_names', 'sigmas', 'joint_weights', 'keypoint_colors')},
        'flip_indices': [index[whole['flip_indices'][i]] for i in kept],
        'skeleton_links': [[index[i] for i in link] for link, _ in links],
        'skeleton_link_colors': [color for _, color in links],
        'groups': {'body': list(range(len(kept)))},
        **{field: [index[i] for i in whole[field] if i in index] for field in ('upper_body_ids', 'lower_body_ids')},
        'coco17_indices': list(range(len(kept))),
        'min_visible_keypoints': 1,
    }


def flip_pairs(classes: Sequence[str]) -> list[list[int]]:
    """Pairs [left, right] of the classes whose names differ only in ``Left_`` and ``Right_``."""
    index = {name: i for i, name in enumerate(classes)}
    return [[i, index[other]] for name, i in index.items()
            if name.startswith('Left_') and (other := name.replace('Left_', 'Right_', 1)) in index]


def _seg(table_name: str, dataset_name: str) -> dict[str, Any]:
    """A class set with colours, and the maps by which the labels of other sets become its labels."""
    table = _read_json('seg_classes.json')
    classes = [entry['name'] for entry in table[table_name]]
    suffix = '_to_' + dataset_name.removeprefix('seg')
    maps = {name: {int(source): IGNORE_LABEL if target is None else target for source, target in pairs.items()}
            for name, pairs in table.items() if name.startswith('map_') and name.endswith(suffix)}
    if dataset_name == 'seg29':
        # The 28 classes of the first generation are the 29 without the glasses, under the same names.
        maps['map_28_to_29'] = {entry['id']: classes.index(entry['name']) for entry in table['classes_28_v1']}
    return {
        'dataset_name': dataset_name,
        'classes': classes,
        'palette': [entry['color'] for entry in table[table_name]],
        'flip_pairs': flip_pairs(classes),
        'label_maps': maps,
        'ignore_index': IGNORE_LABEL,
    }


def class_set(classes: Union[str, Sequence[str]]) -> dict[str, Any]:
    """The class set called ``classes`` in ``load_metainfo``, or that of own names."""
    if isinstance(classes, str):
        return load_metainfo(classes)
    return {'dataset_name': 'own', 'classes': list(classes), 'flip_pairs': flip_pairs(classes)}


_TABLES: dict[str, Callable[[], dict[str, Any]]] = {
    'sapiens308': _sapiens308,
    'coco': _coco17,
    'seg29': functools.partial(_seg, 'classes_29', 'seg29'),
    'seg28': functools.partial(_seg, 'classes_28_v1', 'seg28'),
}


@functools.cache
def _table(name: str) -> dict[str, Any]:
    return _TABLES[name]()


def load_metainfo(name: str) -> dict[str, Any]:
    """The table called ``name``, a copy that the caller may change.

    Key points (``sapiens308``, ``coco``), K points:
        keypoint_names: K names.
        flip_indices: K indices, where each point stands after a left-right mirroring.
        sigmas: K object key point similarity constants, relative to the root of the person's area.
        joint_weights: K loss weights.
        keypoint_colors, skeleton_link_colors: RGB, 0 to 255.
        skeleton_links: pairs of indices.
        groups: name -> indices (body, foot, left_hand, right_hand, face, extra).
        upper_body_ids, lower_body_ids: indices, for half-body augmentation.
        coco17_indices: index of each of the 17 COCO points, in COCO's order.
        wholebody133_to_308: COCO-WholeBody index -> index here (``sapiens308`` only). Face points and the
            root joints of the hands have no counterpart.
        min_visible_keypoints: fewest labelled points of a person that is trained on.

    Classes (``seg29``, ``seg28``):
        classes: names, by label.
        palette: RGB of each class, 0 to 255.
        flip_pairs: [left, right] labels that a mirroring swaps.
        label_maps: name -> {source label: label here, or 255 where there is none}.
        ignore_index: 255.

    Raises:
        UnknownNameError: if there is no such table.
    """
    if name not in _TABLES:
        raise UnknownNameError(unknown_name(name, _TABLES, 'table of key points or classes'))
    return copy.deepcopy(_table(name))
