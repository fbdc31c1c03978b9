"""Each way in which dense ground truth may be wrong: the check names it, and training raises the same text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from tiny_scene import make_scene

from sapiens2.apis.data_check.run import make_plan, read_all
from sapiens2.apis.data_check.sources import sources_of
from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import ImageReadError

SCENE = make_scene()
SHAPE = SCENE.depth.shape
QUICK = {'serialize_data': False}  # which collects garbage, a third of a second
FOLDERS = {'seg': ('labels',), 'normal': ('normals', 'masks'), 'pointmap': ('depths', 'masks', 'cameras'),
           'albedo': ('albedos', 'masks')}


def write_sample(root: Path, name: str) -> None:
    """An image and all its ground truth, nothing wrong."""
    rng = np.random.default_rng(0)
    labels = np.where(SCENE.mask > 0, rng.integers(1, 29, SHAPE), 0).astype(np.uint8)
    files = {'images': rng.integers(0, 256, (*SHAPE, 3), dtype=np.uint8), 'labels': labels, 'masks': SCENE.mask,
             'albedos': rng.integers(0, 256, (*SHAPE, 3), dtype=np.uint8)}
    for folder in (*files, 'normals', 'depths', 'cameras'):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder, picture in files.items():
        cv2.imwrite(str(root / folder / f'{name}.png'), picture)
    np.save(root / f'normals/{name}.npy', SCENE.normal)
    np.save(root / f'depths/{name}.npy', SCENE.depth)
    (root / f'cameras/{name}.json').write_text(json.dumps({'K': SCENE.camera.tolist()}))


@pytest.fixture(scope='module')
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two samples with every field."""
    root = tmp_path_factory.mktemp('sound')
    for name in 'ab':
        write_sample(root, name)
    return root


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(sound, tmp_path / 'set'))


def found(root: Path, task: str) -> list[Fault]:
    """What the check finds."""
    plan = make_plan(sources_of(str(root), task=task, options=QUICK))
    return [*plan.faults, *(fault for faults in read_all(plan, 0) for fault in faults)]


def train(root: Path, task: str) -> None:
    """Load all samples as training does."""
    source, = sources_of(str(root), task=task, options=QUICK)
    dataset = DATASETS.build(source.config)
    for index in range(len(dataset)):
        dataset[index]


def array(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    return lambda path: np.save(path, change(np.load(path)))


def picture(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    return lambda path: cv2.imwrite(str(path), change(cv2.imread(str(path), cv2.IMREAD_UNCHANGED))) or None


def camera(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    return lambda path: path.write_text(json.dumps(change(SCENE.camera.astype(float)).tolist())) and None


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def scaled(x: float, y: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda matrix: np.diag([x, y, 1]) @ matrix


def shifted(matrix: np.ndarray) -> np.ndarray:
    return matrix - np.array([[0, 0, 200], [0, 0, 0], [0, 0, 0]])


def crosswise(matrix: np.ndarray) -> np.ndarray:
    return matrix[[1, 0, 2]][:, [1, 0, 2]]


def unit_interval(depth: np.ndarray) -> np.ndarray:
    return (depth - depth.min()) / np.ptp(depth)


DAMAGE = [
    ('seg', 'labels/a.png', picture(lambda labels: labels + np.uint8(60)), Kind.LABEL_RANGE),
    ('seg', 'labels/a.png', picture(lambda labels: labels[:-2]), Kind.SIZE),
    ('seg', 'labels/a.png', picture(lambda labels: labels.T.copy()), Kind.SIZE),
    ('seg', 'labels/a.png', truncate, Kind.UNREADABLE),
    ('seg', 'labels/a.png', Path.unlink, Kind.NO_GROUND_TRUTH),
    ('seg', 'images/a.png', Path.unlink, Kind.NO_IMAGE),
    ('seg', 'images/a.png', truncate, Kind.UNREADABLE),
    ('seg', 'labels/a.png', picture(lambda labels: np.full_like(labels, 255)), Kind.LABELS_ALL_IGNORED),
    ('seg', 'labels/a.png', lambda path: shutil.copy(path, path.with_suffix('.webp')) and None, Kind.AMBIGUOUS),
    ('normal', 'normals/a.npy', array(lambda normal: normal * 0.6), Kind.NORMAL_LENGTH),
    ('normal', 'normals/a.npy', array(lambda normal: (normal + 1) / 2), Kind.NORMAL_LENGTH),
    ('normal', 'normals/a.npy', array(lambda normal: normal * (1, -1, -1)), Kind.NORMAL_FRAME),
    ('normal', 'normals/a.npy', array(lambda normal: normal * (1, -1, 1)), Kind.NORMAL_FRAME),
    ('normal', 'normals/a.npy', array(lambda normal: normal * (1, 1, -1)), Kind.NORMAL_FRAME),
    ('normal', 'normals/a.npy', array(lambda normal: normal * (-1, 1, 1)), Kind.NORMAL_FRAME),
    ('normal', 'normals/a.npy', array(lambda normal: normal[..., ::-1]), Kind.NORMAL_FRAME),
    ('normal', 'normals/a.npy', array(lambda normal: normal[..., [2, 1, 0]] * (-1, 1, 1)), Kind.NORMAL_DIRECTION),
    ('normal', 'normals/a.npy', array(lambda normal: normal[..., 0]), Kind.SHAPE),
    ('normal', 'normals/a.npy', array(lambda normal: normal * np.nan), Kind.MASK_EMPTY),
    ('normal', 'normals/a.npy', truncate, Kind.UNREADABLE),
    ('normal', 'masks/a.png', picture(lambda mask: mask * 0), Kind.MASK_EMPTY),
    ('normal', 'masks/a.png', picture(lambda mask: mask[:, :-1]), Kind.SIZE),
    ('pointmap', 'depths/a.npy', array(lambda depth: depth * 1000), Kind.DEPTH_UNIT),
    ('pointmap', 'depths/a.npy', array(lambda depth: depth * 100), Kind.DEPTH_UNIT),
    ('pointmap', 'depths/a.npy', array(unit_interval), Kind.DEPTH_UNIT),
    ('pointmap', 'depths/a.npy', array(lambda depth: 1 / depth), Kind.DEPTH_INVERSE),
    ('pointmap', 'depths/a.npy', array(lambda depth: depth * 20), Kind.DEPTH_STRANGE),
    ('pointmap', 'depths/a.npy', array(lambda depth: depth * -1), Kind.MASK_EMPTY),
    ('pointmap', 'cameras/a.json', Path.unlink, Kind.NO_GROUND_TRUTH),
    ('pointmap', 'cameras/a.json', camera(scaled(-1, 1)), Kind.CAMERA),
    ('pointmap', 'cameras/a.json', camera(scaled(2, 2)), Kind.CAMERA_SIZE),
    ('pointmap', 'cameras/a.json', camera(crosswise), Kind.CAMERA_SIZE),
    ('pointmap', 'cameras/a.json', camera(scaled(1 / 120, 1 / 160)), Kind.CAMERA),
    ('pointmap', 'cameras/a.json', camera(shifted), Kind.CAMERA_STRANGE),
    ('albedo', 'albedos/a.png', lambda path: path.unlink() or np.save(
        path.with_suffix('.npy'), np.full((*SHAPE, 3), 1.5)), Kind.ALBEDO_RANGE),
    ('albedo', 'albedos/a.png', picture(lambda albedo: albedo // 200), Kind.ALBEDO_DARK),
]


@pytest.mark.parametrize('task', FOLDERS)
def test_nothing_is_found_in_sound_data(sound: Path, task: str) -> None:
    assert found(sound, task) == []
    train(sound, task)


@pytest.mark.parametrize('task, file, damage, kind', DAMAGE, ids=[f'{row[1]}-{row[3].name}' for row in DAMAGE])
def test_damage_is_named_and_stops_training(
        root: Path, task: str, file: str, damage: Callable[[Path], None], kind: Kind) -> None:
    damage(root / file)
    faults = found(root, task)
    assert [fault.kind for fault in faults][:1] == [kind], [str(fault) for fault in faults]
    assert f'{Path(file).stem}.' in str(faults[0])  # of the damaged file or, where it lacks, of its image
    if faults[0].warning:
        train(root, task)
    else:
        with pytest.raises((DataError, ImageReadError)) as caught:
            train(root, task)
        assert str(caught.value) == str(faults[0])


@pytest.mark.parametrize('height', [80, 320])
@pytest.mark.parametrize('distance', [1.2, 2.5])
def test_sizes_and_distances_that_are_right(tmp_path: Path, height: int, distance: float) -> None:
    from sapiens2.datasets.rules.fields import field_faults
    scene = make_scene(height, height * 3 // 4, distance)
    fields = {'normal': scene.normal, 'depth': scene.depth, 'K': scene.camera, 'mask': scene.mask // 255}
    assert list(field_faults(fields, scene.depth.shape, dict.fromkeys(fields, 'file'), 'image')) == []


def test_missing_camera_folder(root: Path) -> None:
    shutil.rmtree(root / 'cameras')
    fault, = found(root, 'pointmap')
    assert fault.kind is Kind.MISSING_FIELD and "data_prefix['K']" in str(fault)


def test_all_that_is_wrong_with_a_sample_is_found(root: Path) -> None:
    array(lambda depth: depth * 1000)(root / 'depths/a.npy')
    camera(scaled(2, 2))(root / 'cameras/a.json')
    (root / 'cameras/b.json').write_text('{')
    assert {fault.kind for fault in found(root, 'pointmap')} == {Kind.CAMERA_SIZE, Kind.DEPTH_UNIT, Kind.UNREADABLE}


def test_statistics_can_be_turned_off(root: Path) -> None:
    array(lambda depth: depth * 1000)(root / 'depths/a.npy')
    source, = sources_of(str(root), task='pointmap', options={'pipeline.1.statistics': False, **QUICK})
    assert len(DATASETS.build(source.config)[0]['depth']) == SHAPE[0]


def test_exif_that_keeps_the_size_is_a_warning(root: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 3
    with Image.open(root / 'images/a.png') as image:
        image.save(root / 'images/a.jpg', exif=exif)
    (root / 'images/a.png').unlink()
    fault, = found(root, 'seg')
    assert fault.kind is Kind.TURNED and 'orientation 3' in str(fault) and fault.warning


def test_exif_that_lays_the_picture_on_its_side(root: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(root / 'images/a.png') as image:
        image.save(root / 'images/a.jpg', exif=exif)
    (root / 'images/a.png').unlink()
    fault, = found(root, 'seg')
    assert fault.kind is Kind.SIZE and 'EXIF' in fault.remedy
