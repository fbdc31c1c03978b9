"""Tables of key points and classes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapiens2.datasets import metainfo
from sapiens2.datasets.metainfo import COCO17_NAMES, load_metainfo


@pytest.mark.parametrize('name, count', [('sapiens308', 308), ('coco', 17)])
def test_keypoint_tables(name: str, count: int) -> None:
    meta = load_metainfo(name)
    for field in ('keypoint_names', 'flip_indices', 'sigmas', 'joint_weights', 'keypoint_colors'):
        assert len(meta[field]) == count, field
    assert len(set(meta['keypoint_names'])) == count
    assert all(meta['flip_indices'][other] == i for i, other in enumerate(meta['flip_indices']))
    assert len(meta['skeleton_links']) == len(meta['skeleton_link_colors'])
    assert {i for link in meta['skeleton_links'] for i in link} <= set(range(count))
    assert [meta['keypoint_names'][i] for i in meta['coco17_indices']] == list(COCO17_NAMES)


def test_left_and_right_swap_by_name() -> None:
    meta = load_metainfo('sapiens308')
    names = meta['keypoint_names']
    for name, other in zip(names, meta['flip_indices']):
        if name.startswith('left_'):
            assert names[other] == name.replace('left_', 'right_', 1)


def test_groups_part_the_308_points() -> None:
    groups = load_metainfo('sapiens308')['groups']
    assert {name: len(members) for name, members in groups.items()} == {
        'body': 17, 'foot': 6, 'left_hand': 20, 'right_hand': 20, 'face': 238, 'extra': 7}
    assert sorted(i for members in groups.values() for i in members) == list(range(308))


def test_wholebody_map() -> None:
    meta = load_metainfo('sapiens308')
    pairs = meta['wholebody133_to_308']
    assert [pairs[i] for i in range(17)] == meta['coco17_indices']
    assert len(set(pairs.values())) == len(pairs) == 53
    assert not set(range(23, 91)) & set(pairs)  # no face point has a counterpart
    assert meta['keypoint_names'][pairs[95]] == 'left_thumb4' and meta['keypoint_names'][pairs[116]] == 'right_thumb4'


def test_seg_tables() -> None:
    meta = load_metainfo('seg29')
    assert len(meta['classes']) == len(meta['palette']) == 29
    assert meta['flip_pairs'] == [[i, i + 9] for i in range(5, 13)]
    assert len(load_metainfo('seg28')['classes']) == 28
    for name, pairs in meta['label_maps'].items():
        assert set(pairs.values()) <= {*range(29), 255}, name
    assert meta['label_maps']['map_34_to_29'][7] == 255
    assert meta['label_maps']['map_28_to_29'][27] == 28


@pytest.mark.parametrize('source, count, elsewhere', [
    ('34', 34, {'Chair': 'Background', 'Headset': None, 'Lower_Spandex': 'Lower_Clothing', 'Visible_Badge': None,
                'Eyeglass_Lenses': 'Eyeglass', 'Eyeglass_Frame': 'Eyeglass'}),
    ('52', 52, {'Hairnet': 'Apparel', 'Badge': None, 'Headset': None, 'Occluder': 'Background', 'Palate': 'Face_Neck',
                'Left_thumbNail': 'Left_Hand', 'Right_pinkyNail': 'Right_Hand'}),
    ('32', 33, {'Nose': 'Face_Neck', 'Glasses': 'Eyeglass', 'Left_Arm': None, 'Right_Shoe_Sock': None}),
    ('28_v1', 28, {}),
])
def test_source_label_sets_keep_their_names(source: str, count: int, elsewhere: dict[str, str | None]) -> None:
    """A class of a source set becomes that of its name, save where there is none."""
    meta = load_metainfo('seg29')
    table = json.loads((Path(metainfo.__file__).parent / 'seg_classes.json').read_text(encoding='utf-8'))
    names = [item['name'] if isinstance(item, dict) else item for item in table[f'classes_{source}']]
    pairs = meta['label_maps'][f'map_{source.removesuffix("_v1")}_to_29']
    assert sorted(pairs) == list(range(count)) == list(range(len(names)))
    targets = {name: meta['classes'][pairs[label]] if pairs[label] != 255 else None
               for label, name in enumerate(names)}
    assert elsewhere.items() <= targets.items()
    assert all(targets[name] == name for name in names if name in meta['classes'] and name not in elsewhere)


def test_tables_are_copies_and_unknown_names_are_helped() -> None:
    load_metainfo('coco')['sigmas'].clear()
    assert len(load_metainfo('coco')['sigmas']) == 17
    with pytest.raises(KeyError, match='seg29'):
        load_metainfo('seg_29')
