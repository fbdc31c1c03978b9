"""LIP, CIHP and CelebAMask-HQ on miniatures of their files."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from tiny_sources import (all_labels, parsing_layout, write_celebamask, write_labels, write_parsing,
                          write_photograph)

from sapiens2.datasets.converters import label_tables
from sapiens2.datasets.metainfo import load_metainfo

HEIGHT, WIDTH = 40, 30
CLASSES = load_metainfo('seg29')['classes']


@pytest.fixture(params=['lip', 'cihp'])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def source(tmp_path: Path, name: str) -> Path:
    """A grey photograph, a palette label map, one label map missing, one out of range, one of another size."""
    write_parsing(tmp_path / 'src', name)
    for split in ('train', 'val'):
        images, labels, names = parsing_layout(tmp_path / 'src', name, split)
        for stem in ('no labels', '9_out', '9_size'):
            write_photograph(images / f'{stem}.jpg')
        write_labels(labels / '9_out.png', all_labels() + 1)
        write_labels(labels / '9_size.png', all_labels().T.copy())
        names.write_text(names.read_text() + 'no labels\n9_out\n9_size\n9_no_photograph\n')
    return tmp_path / 'src'


def test_human_parsing(name, source, tmp_path, convert, build_from_command) -> None:
    result = convert(name, source)
    assert result.code == 1
    problems = (tmp_path / 'out/skipped.txt').read_text()
    for words in ('no labels.png: is missing', '9_out.png: sem_seg holds labels [20]', '9_size.png: has height, width',
                  '9_no_photograph.jpg: is missing'):
        assert problems.count(words) == 2 and words in result.messages
    dataset = build_from_command(result.commands[-1])
    assert [Path(dataset.get_data_info(i)['img_path']).name for i in range(len(dataset))] == [
        '77_471474.jpg', 'palette_1.jpg']
    dataset[0], dataset[1], build_from_command(result.commands[-1], 'val')[0]
    table = list((label_tables.LIP if name == 'lip' else label_tables.CIHP).values())
    expected = np.array([255 if target is None else CLASSES.index(target) for target in table])[all_labels()]
    for stem in ('77_471474', 'palette_1'):
        assert np.array_equal(cv2.imread(str(tmp_path / f'out/train/labels/{stem}.png'), -1), expected)
    original = parsing_layout(source, name, 'train')[0] / '77_471474.jpg'
    assert (tmp_path / 'out/train/images/77_471474.jpg').read_bytes() == original.read_bytes()


def test_tables_differ_in_label_10() -> None:
    lip, cihp = label_tables.targets(label_tables.LIP), label_tables.targets(label_tables.CIHP)
    assert list(lip)[10] == 'Jumpsuits' and list(cihp)[10] == 'Torso-skin' and len(lip) == len(cihp) == 20
    assert lip['Jumpsuits'] == 255 and cihp['Torso-skin'] == CLASSES.index('Torso')
    assert lip['Left-shoe'] == CLASSES.index('Left_Shoe') and lip['Right-shoe'] == CLASSES.index('Right_Shoe')
    with pytest.raises(KeyError, match="'Lower_Clothing'"):
        label_tables.targets({'a': 'LowerClothing'})


@pytest.mark.parametrize('own', [True, False])
def test_sides_of_the_viewer_are_noticed(tmp_path, convert, own) -> None:
    images, labels, _ = parsing_layout(tmp_path / 'src', 'lip', 'train')
    person = np.zeros((HEIGHT, WIDTH), np.uint8)
    person[:5, 10:20] = 13
    person[-5:, 20:25], person[-5:, 5:10] = (18, 19) if own else (19, 18)
    for number in range(25):
        write_photograph(images / f'{number}.jpg')
        write_labels(labels / f'{number}.png', person)
    result = convert('lip', tmp_path / 'src', '--split', 'train')
    assert (result.code, 'crosswise in 25 of 25' in result.messages) == ((0, False) if own else (1, True))


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    """CelebAMask-HQ with parts as grey and as RGB, one photograph without parts, and all three splits."""
    write_celebamask(tmp_path / 'src', count=5)
    root = tmp_path / 'src/CelebAMask-HQ'
    for part in root.rglob('00004_*.png'):
        part.unlink()
    return root


def test_celebamask(faces, tmp_path, convert, build_from_command) -> None:
    result = convert('celebamask-hq', faces.parent)
    assert result.code == 1 and '4.jpg: has no part mask' in result.messages
    found = {split: sorted(path.name for path in (tmp_path / f'out/{split}/images').iterdir())
             for split in ('train', 'val', 'test')}
    assert found == {'train': ['00000.jpg'], 'val': ['00001.jpg', '00002.jpg'], 'test': ['00003.jpg']}
    labels = cv2.imread(str(tmp_path / 'out/train/labels/00000.png'), -1)
    assert labels.shape == (64, 64)
    names = [CLASSES[label] if label != 255 else None for label in labels[::2, 0]]
    assert names[:11] == ['Face_Neck'] + ['Eyeglass'] * 4 + ['Upper_Lip', None, None, 'Lower_Lip', 'Face_Neck',
                                                             'Face_Neck']
    assert names[14:20] == ['Hair'] * 6 and names[20:] == ['Upper_Clothing'] * 10 + ['Background'] * 2
    assert np.array_equal(labels[::2], labels[1::2])
    build_from_command(result.commands[-1])[0], build_from_command(result.commands[-1], 'val')[1]


def test_unknown_parts_and_numbers_are_errors(faces, convert) -> None:
    write_labels(faces / 'CelebAMask-HQ-mask-anno/0/00000_beard.png', np.zeros((32, 32), np.uint8))
    with pytest.raises(ValueError, match="00000_beard.png: 'beard' is no known part"):
        convert('celebamask-hq', faces)
    (faces / 'CelebAMask-HQ-mask-anno/0/00000_beard.png').unlink()
    write_photograph(faces / 'CelebA-HQ-img/7.jpg', (64, 64))
    with pytest.raises(ValueError, match=r'7\.jpg: its number is not in'):
        convert('celebamask-hq', faces)
