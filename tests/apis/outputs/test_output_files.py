"""Files of all tasks and formats, read back with other programs' eyes."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from sapiens2.apis.outputs import OutputOptions, people_map, result_files, write_result
from sapiens2.apis.outputs.maps import srgb_levels
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.utils.choices import OUTPUT_FORMATS
from sapiens2.utils.image_io import read_labels, read_raster
from sapiens2.utils.suggest import UnknownNameError

SIZE = (20, 30)


def image(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*SIZE, 3), dtype=np.uint8)


def result_of(task: str, **entries) -> dict:
    rng = np.random.default_rng(1)
    meta = {'pose': 'sapiens308', 'seg': 'seg29'}.get(task)
    vectors = rng.normal(size=(*SIZE, 3)).astype(np.float32)
    values = {
        'pose': lambda: dict(
            keypoints=rng.uniform(0, 20, (2, 308, 2)).astype(np.float32),
            keypoint_scores=rng.uniform(0, 1, (2, 308)).astype(np.float32),
            bboxes=np.array([[0, 0, 9, 9], [5, 5, 29, 19.]]),
            bbox_scores=np.array([0.9, 0.8]), boxes_from='boxes', skipped_boxes=[], boxes_below_threshold=0,
            message=None),
        'seg': lambda: dict(sem_seg=rng.integers(0, 29, SIZE).astype(np.uint8)),
        'normal': lambda: dict(normal=vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)),
        'pointmap': lambda: dict(pointmap=np.abs(vectors) + 0.5, scale=np.ones(1, np.float32)),
        'albedo': lambda: dict(albedo=rng.uniform(0, 1, (*SIZE, 3)).astype(np.float32)),
    }[task]()
    return {'task': task, 'model': 'm', 'weights': 'w', 'path': 'a/7.jpg', 'image_size': SIZE,
            'dataset_meta': load_metainfo(meta) if meta else {}, **values, **entries}


def write(task: str, folder: Path, result: dict, *formats: str, **options) -> list[Path]:
    chosen = OutputOptions(picture=False, **{task: formats}, **options)
    files = write_result(folder, 'deep/7', image(), result, chosen)
    assert files == result_files(folder, 'deep/7', task, chosen)
    return files


def test_every_format_has_a_writer_and_only_the_files_named_appear(tmp_path):
    pytest.importorskip('OpenEXR')
    for task, formats in OUTPUT_FORMATS.items():
        more = dict(seg_probs=np.zeros((29, *SIZE), np.float16), bboxes=np.array([[0, 0, 9, 9.]])) \
            if task == 'seg' else {}
        options = OutputOptions(**{task: tuple(formats)})
        files = write_result(tmp_path, 'deep/7', image(), result_of(task, **more), options)
        assert sorted(path for path in (tmp_path / task).rglob('*') if path.is_file()) == sorted(files)
        assert files == result_files(tmp_path, 'deep/7', task, options) and len(set(files)) == len(files)


def test_unknown_formats_and_sets_offer_the_nearest():
    with pytest.raises(UnknownNameError, match="pointmap: unknown format: 'pyl'.*'ply'"):
        OutputOptions(pointmap=('pyl',))
    with pytest.raises(UnknownNameError, match="'coco71'.*'coco17'"):
        OutputOptions(keypoints=('coco71',))
    with pytest.raises(ValueError, match='ask for json'):
        OutputOptions(pose=('coco',))


def test_labels_are_a_palette_picture_with_a_table(tmp_path):
    result = result_of('seg')
    png, npz = write('seg', tmp_path, result, 'png', 'npz')
    assert (read_labels(png) == result['sem_seg']).all()
    with Image.open(png) as picture:
        assert picture.mode == 'P'
        colors = np.asarray(picture.convert('RGB'))
    palette = np.array(result['dataset_meta']['palette'])
    assert (colors == palette[result['sem_seg']]).all()
    assert (np.load(npz)['sem_seg'] == result['sem_seg']).all()
    table = json.loads((tmp_path / 'seg_classes.json').read_text())
    assert table['schema'] == 'sapiens2/classes' and len(table['classes']) == 29
    assert table['classes'][4] == {'label': 4, 'name': 'Hair', 'color': palette[4].tolist()}
    lines = (tmp_path / 'seg_classes.csv').read_text().splitlines()
    assert len(lines) == 30 and lines[5] == '4,"Hair",255,0,109'


def test_probabilities_are_written_and_missing_ones_are_named(tmp_path):
    probabilities = np.random.default_rng(0).dirichlet(np.ones(29), SIZE).transpose(2, 0, 1).astype(np.float16)
    path, = write('seg', tmp_path, result_of('seg', seg_probs=probabilities), 'soft')
    stored = np.load(path)
    assert stored['seg_probs'].dtype == np.float16 and (stored['seg_probs'] == probabilities).all()
    with pytest.raises(ValueError, match='deep/7: class probabilities were not predicted'):
        write('seg', tmp_path, result_of('seg'), 'soft')


def test_pixels_go_to_the_person_whose_box_is_nearest(tmp_path):
    labels = np.ones((10, 20), np.uint8)
    labels[0] = 0
    boxes = np.array([[0, 0, 11, 9], [8, 0, 19, 9], [-5, -5, -1, -1.]])
    owner = people_map(labels, boxes)
    assert (owner[0] == 0).all() and (owner[1:, :8] == 1).all() and (owner[1:, 12:] == 2).all()
    assert owner[5].tolist() == [1] * 10 + [2] * 10
    known = dict(bboxes=np.array([[0, 0, 29, 19.]]), bbox_scores=np.array([0.5]), track_ids=np.array([7]))
    picture, numbers = write('seg', tmp_path, result_of('seg', **known), 'people', 'people-npz')
    assert set(np.unique(read_labels(picture))) == {0, 1}
    stored = np.load(numbers)
    assert (stored['people'] == read_labels(picture)).all() and stored['track_ids'].tolist() == [7]
    with pytest.raises(ValueError, match='give boxes or a detector'):
        write('seg', tmp_path, result_of('seg'), 'people')


def test_more_people_than_a_palette_has_colours(tmp_path):
    boxes = np.repeat(np.array([[0, 0, 4, 4.]]), 299, axis=0)
    boxes = np.concatenate([boxes, [[10, 10, 19, 19.]]])
    path, = write('seg', tmp_path, result_of('seg', bboxes=boxes, sem_seg=np.ones(SIZE, np.uint8)), 'people')
    assert read_labels(path).dtype == np.uint16 and read_labels(path)[15, 15] == 300


def test_a_normal_that_faces_the_camera_is_yellow_green_and_dark_blue(tmp_path):
    """RGB = (n + 1) / 2 with x right, y down, z forward: nothing is turned round on the way."""
    normal = np.tile(np.array([0, 0, -1], np.float32), (*SIZE, 1))
    normal[:, 0], normal[:, 1] = (1, 0, 0), (0, 1, 0)
    small, large = write('normal', tmp_path, result_of('normal', normal=normal), 'png', 'png16')
    assert read_raster(small)[0, :3].tolist() == [[255, 128, 128], [128, 255, 128], [128, 128, 0]]
    assert read_raster(large).dtype == np.uint16
    assert read_raster(large)[0, :3].tolist() == [[65535, 32768, 32768], [32768, 65535, 32768], [32768, 32768, 0]]


def test_sixteen_bits_keep_more_of_a_normal_than_eight(tmp_path):
    result = result_of('normal')
    small, large = (read_raster(path) for path in write('normal', tmp_path, result, 'png', 'png16'))
    errors = [np.abs(pixels / np.iinfo(pixels.dtype).max * 2 - 1 - result['normal']).max() for pixels in (small, large)]
    assert errors[0] > 1e-3 and errors[1] < 2e-5


def test_albedo_says_which_of_linear_and_srgb_it_is(tmp_path):
    albedo = np.zeros((*SIZE, 3), np.float32)
    albedo[..., 0], albedo[..., 1] = 0.5, 0.2
    linear, srgb, deep = write('albedo', tmp_path, result_of('albedo', albedo=albedo), 'png', 'srgb', 'png16')
    assert read_raster(linear)[0, 0].tolist() == [128, 51, 0]
    assert read_raster(srgb)[0, 0].tolist() == [188, 124, 0]
    assert read_raster(deep)[0, 0].tolist() == [32768, 13107, 0]
    gammas = []
    for path in (linear, srgb, deep):
        with Image.open(path) as picture:
            gammas.append(picture.info['gamma'])
    assert gammas == [1.0, pytest.approx(1 / 2.2, abs=1e-4), 1.0]
    # OpenCV does not apply it either.
    assert cv2.imread(str(linear))[0, 0].tolist() == [0, 51, 128]


def test_the_curve_of_srgb():
    assert srgb_levels(np.array([0, 0.0031308, 0.18, 1, 2, np.nan])).tolist() == [0, 10, 118, 255, 255, 0]


def test_exr_files_are_read_back_as_they_were(tmp_path):
    pytest.importorskip('OpenEXR')
    from sapiens2.datasets.exr import read_exr
    for task, channels in (('normal', 3), ('albedo', 3), ('pointmap', 1)):
        result = result_of(task)
        path, = write(task, tmp_path, result, 'exr')
        expected = result[task][..., 2:] if task == 'pointmap' else result[task]
        assert np.allclose(read_exr(str(path), channels), expected, atol=0 if task == 'pointmap' else 1e-3)


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'OpenEXR', None)
    with pytest.raises(ImportError, match=r'sapiens2\[exr\]'):
        write('normal', tmp_path, result_of('normal'), 'exr')
