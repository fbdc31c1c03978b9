"""LIP, CIHP and CelebAMask-HQ on miniatures of their files."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from sapiens2.datasets.converters import label_tables
from sapiens2.datasets.metainfo import load_metainfo

HEIGHT, WIDTH = 40, 30
CLASSES = load_metainfo('seg29')['classes']


def write_photograph(path: Path, size: tuple[int, int] = (WIDTH, HEIGHT), mode: str = 'RGB') -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.effect_noise(size, 90).convert(mode).save(path)


def write_labels(path: Path, labels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(labels)
    if path.stem.startswith('palette'):
        image = image.convert('P')
        image.putpalette(list(range(256)) * 3)
    image.save(path)


def all_labels() -> np.ndarray:
    return (np.arange(HEIGHT * WIDTH) % 20).astype(np.uint8).reshape(HEIGHT, WIDTH)


def layout(root: Path, name: str, split: str) -> tuple[Path, Path, Path]:
    """Folders of photographs and label maps, and the list, as unpacked."""
    if name == 'lip':
        return (root / f'TrainVal_images/TrainVal_images/{split}_images',
                root / f'TrainVal_parsing_annotations/TrainVal_parsing_annotations/{split}_segmentations',
                root / f'TrainVal_images/{split}_id.txt')
    top = root / 'instance-level_human_parsing' / {'train': 'Training', 'val': 'Validation'}[split]
    return top / 'Images', top / 'Category_ids', top / f'{split}_id.txt'


@pytest.fixture(params=['lip', 'cihp'])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def source(tmp_path: Path, name: str) -> Path:
    """A grey photograph, a palette label map, one label map missing, one out of range, one of another size."""
    for split in ('train', 'val'):
        images, labels, names = layout(tmp_path / 'src', name, split)
        stems = ['77_471474', 'palette_1', 'no labels', '9_out', '9_size', '9_no_photograph']
        for stem in stems[:-1]:
            write_photograph(images / f'{stem}.jpg', mode='L' if stem == '77_471474' else 'RGB')
        write_labels(labels / '77_471474.png', all_labels())
        write_labels(labels / 'palette_1.png', all_labels())
        write_labels(labels / '9_out.png', all_labels() + 1)
        write_labels(labels / '9_size.png', all_labels().T.copy())
        names.write_text('\n'.join(stems) + '\n')
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
    original = layout(source, name, 'train')[0] / '77_471474.jpg'
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
    images, labels, _ = layout(tmp_path / 'src', 'lip', 'train')
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
    root = tmp_path / 'src/CelebAMask-HQ'
    rows = ['idx orig_idx orig_file', '0 119613 119614.jpg', '1 162771 162772.jpg', '2 182637 182638.jpg',
            '3 182638 182639.jpg', '4 5 000006.jpg']
    root.mkdir(parents=True)
    (root / 'CelebA-HQ-to-CelebA-mapping.txt').write_text('\n'.join(rows) + '\n')
    areas = {'skin': (0, 16), 'hair': (14, 20), 'l_eye': (2, 4), 'eye_g': (1, 5), 'mouth': (6, 8), 'u_lip': (5, 6),
             'l_lip': (8, 9), 'cloth': (20, 30)}
    for number in range(5):
        write_photograph(root / f'CelebA-HQ-img/{number}.jpg', (64, 64))
        for part, (first, last) in {} if number == 4 else areas.items():
            mask = np.zeros((32, 32), np.uint8)
            mask[first:last] = 255
            if part == 'hair':
                mask = np.stack([mask] * 3, axis=-1)
            write_labels(root / f'CelebAMask-HQ-mask-anno/{number // 2000}/{number:05d}_{part}.png', mask)
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
