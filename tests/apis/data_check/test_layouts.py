"""What a folder is taken for: all ground truth in it is checked, or named as passed over."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tiny_data import write_data

from sapiens2.apis.data_check.run import make_plan
from sapiens2.apis.data_check.sources import sources_of
from sapiens2.datasets.errors import Kind
from sapiens2.datasets.metainfo import COCO17_NAMES
from sapiens2.registry import DATASETS
from sapiens2.utils.config import ConfigError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Labels in train/ and val/, key points in annotations/, of which those for validation are faulty."""
    root = tmp_path / 'set'
    write_data('seg', root, 2)
    (root / 'annotations').mkdir()
    for split, box in (('train', [5, 5, 30, 40]), ('val', [5, 5, 0, 40])):
        (root / f'annotations/people_{split}.json').write_text(json.dumps({
            'images': [dict(id=1, file_name=f'{split}/images/0.png', width=60, height=80)],
            'annotations': [dict(id=1, image_id=1, category_id=1, bbox=box, keypoints=[9, 9, 2] * 17)],
            'categories': [dict(id=1, name='person', keypoints=COCO17_NAMES)]}))
    (root / 'manifest.json').write_text('{}')
    for place in (root, root / 'annotations'):
        (place / '._people_val.json').write_bytes(b'left by a system')
    return root


def test_annotations_beside_folders_are_checked(root: Path) -> None:
    sources = sources_of(str(root))
    assert '._people' not in sources[1].detected
    assert [source.config['type'] for source in sources] == ['DenseFolderDataset'] * 2 + ['CocoPoseDataset'] * 2
    assert 'manifest.json (no COCO annotations)' in sources[1].detected
    plan = make_plan(sources)
    assert [fault.kind for fault in plan.faults] == [Kind.BOX_EMPTY] and len(plan.samples) == 5


def test_annotations_of_a_split_and_of_a_task(root: Path) -> None:
    dense, people = sources_of(str(root), splits=['train'])
    assert 'manifest.json (no COCO annotations)' in dense.detected
    assert people.name == 'people_train.json' and 'people_val.json (of another split' in dense.detected
    assert [source.name for source in sources_of(str(root), task='pose')] == ['people_train.json', 'people_val.json']
    seg = sources_of(str(root), task='seg')
    assert len(seg) == 2 and 'people_train.json (check it by its name)' in seg[1].detected


def test_annotations_whose_images_are_elsewhere_are_named(root: Path) -> None:
    content = json.loads((root / 'annotations/people_val.json').read_text())
    content['images'][0]['file_name'] = 'nowhere.png'
    (root / 'annotations/people_val.json').write_text(json.dumps(content))
    assert 'people_val.json (' in sources_of(str(root))[1].detected
    with pytest.raises(ConfigError, match='--images'):
        sources_of(str(root / 'annotations/people_val.json'))


def test_one_camera_is_found_as_in_training(tmp_path: Path) -> None:
    write_data('pointmap', tmp_path / 'set', 2)
    for split in ('train', 'val'):
        folder = tmp_path / 'set' / split
        for file in (folder / 'cameras').iterdir():
            file.unlink()
        (folder / 'cameras').rmdir()
        np.save(folder / 'K.npy', np.array([[70.0, 0, 29.5], [0, 70, 39.5], [0, 0, 1]]))
    for source in sources_of(str(tmp_path / 'set'), task='pointmap'):
        assert source.config['data_prefix']['K'] == 'cameras'
        assert DATASETS.build(source.config)[0]['K'][0, 2] == 29.5
