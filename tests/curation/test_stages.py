"""What is measured of single pictures."""

from __future__ import annotations

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from sapiens2.curation.chain import Chain
from sapiens2.curation.stages import (Decode, DetectPeople, Embedding, Faces, Nudity, PeopleByFaces, Quality, Realism,
                                      TextArea)


def measured(picture, *stages):
    """The record of a picture, stored without loss."""
    record = {'index': 0, 'name': 'made', 'content': cv2.imencode('.png', picture)[1].tobytes()}
    Chain([Decode(), *stages]).run([record])
    assert not record.get('error'), record['error']
    return record


def ready(stage):
    """A stage that can run; the test is skipped where a package is missing."""
    try:
        stage.setup()
    except ImportError as error:
        pytest.skip(str(error))
    return stage


def noise(height=300, width=400, seed=0):
    rng = np.random.default_rng(seed)
    return cv2.resize(rng.integers(40, 216, (height // 4, width // 4, 3), dtype=np.uint8), (width, height),
                      interpolation=cv2.INTER_CUBIC)


def test_large_pictures_are_made_smaller_and_sizes_are_those_of_the_file():
    record = measured(noise(2000, 3000))
    assert record['picture'].shape == (683, 1024, 3)
    assert (record['height'], record['width'], record['shorter_side'], record['format']) == (2000, 3000, 2000, 'PNG')
    assert record['aspect'] == 1.5 and record['frames'] == 1


def test_animations_are_counted_and_broken_files_named():
    file = io.BytesIO()
    frames = [Image.fromarray(noise(40, 40, seed)) for seed in range(3)]
    frames[0].save(file, 'GIF', save_all=True, append_images=frames[1:])
    records = [{'index': 0, 'name': 'a.gif', 'content': file.getvalue()},
               {'index': 1, 'name': 'b.jpg', 'content': b'<html>'}]
    Chain([Decode()]).run(records)
    assert records[0]['frames'] == 3 and records[0]['format'] == 'GIF'
    assert 'HTML' in records[1]['error']


def test_turned_photographs_stand_upright():
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(noise(300, 400)).save(file, 'JPEG', exif=exif)
    record = {'index': 0, 'name': 'a.jpg', 'content': file.getvalue()}
    Chain([Decode()]).run([record])
    assert (record['height'], record['width']) == (400, 300) == record['picture'].shape[:2]


def test_blur_light_colour_and_compression_show():
    sharp = noise()
    blurred = cv2.GaussianBlur(sharp, (0, 0), 4)
    assert measured(blurred, Quality())['sharpness'] < measured(sharp, Quality())['sharpness'] - 2
    assert measured(np.full((64, 64, 3), 255, np.uint8), Quality())['clipped'] == 1
    grey = np.repeat(sharp[..., :1], 3, axis=2)
    assert measured(grey, Quality())['colourfulness'] == 0 < measured(sharp, Quality())['colourfulness']
    packed = cv2.imdecode(cv2.imencode('.jpg', blurred, [cv2.IMWRITE_JPEG_QUALITY, 5])[1], cv2.IMREAD_COLOR)
    assert measured(packed, Quality())['blockiness'] > 2 > measured(blurred, Quality())['blockiness']
    assert np.isfinite(measured(noise()[:1, :1], Quality())['sharpness'])


def test_text_is_found_and_textures_are_not_text():
    pytest.importorskip('onnxruntime')
    pytest.importorskip('rapidocr')
    page = np.full((800, 600, 3), 255, dtype=np.uint8)
    for line in range(10):
        cv2.putText(page, 'the quick brown fox', (20, 60 + 70 * line), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (0, 0, 0), 3)
    record = measured(page, TextArea())
    assert 8 <= record['text_lines'] <= 40 and record['text_share'] > 0.05
    assert measured(noise(), TextArea())['text_share'] < 0.02


def test_the_face_of_a_portrait_is_found_and_its_mirror_image_looks_the_other_way():
    pytest.importorskip('ai_edge_litert')
    data = pytest.importorskip('skimage.data')
    faces = ready(Faces())
    portrait = np.ascontiguousarray(data.astronaut()[..., ::-1])
    record = measured(portrait, faces)
    assert record['num_faces'] == 1
    x1, y1, x2, y2 = record['face_boxes']
    assert 150 < x1 < 200 < 240 < x2 < 290 and 50 < y1 < 110 < 160 < y2 < 220
    mirrored = measured(np.ascontiguousarray(portrait[:, ::-1]), faces)
    for name, sign in (('yaw', -1), ('roll', -1), ('pitch', 1)):
        assert mirrored[f'head_{name}'] == pytest.approx(sign * record[f'head_{name}'], abs=8)
    larger = measured(cv2.resize(portrait, None, fx=3, fy=3), faces)
    assert larger['face_side'] == pytest.approx(3 * record['face_side'], rel=0.15)
    empty = measured(noise(), faces)
    assert empty['num_faces'] == 0 and empty['head_yaw'] is None


@pytest.mark.parametrize('scale', [1, 3])
def test_people_by_faces_are_those_that_a_detector_finds_by_their_faces(scale):
    pytest.importorskip('ai_edge_litert')
    data = pytest.importorskip('skimage.data')
    portrait = cv2.resize(data.astronaut()[..., ::-1], None, fx=scale, fy=scale)
    columns = ('num_people', 'person_boxes', 'person_scores', 'person_side')
    for picture, people in ((portrait, 1), (noise(), 0)):
        searched = measured(picture, ready(DetectPeople()))
        taken = measured(picture, ready(Faces()), PeopleByFaces())
        assert taken['num_people'] == people
        for name in columns:
            assert taken[name] == pytest.approx(searched[name])


def camera_picture(seed=0):
    """Soft shapes with the noise of a camera."""
    rng = np.random.default_rng(seed)
    soft = cv2.resize(rng.integers(20, 236, (9, 12, 3), dtype=np.uint8), (400, 300), interpolation=cv2.INTER_CUBIC)
    return np.clip(soft + rng.normal(0, 4, soft.shape), 0, 255).astype(np.uint8)


def test_photographs_and_drawings_are_told_apart():
    drawing = np.full((300, 400, 3), 255, dtype=np.uint8)
    for number in range(6):
        cv2.circle(drawing, (60 * number + 40, 150), 25, (40 * number, 200 - 30 * number, 90), -1)
        cv2.circle(drawing, (60 * number + 40, 150), 25, (0, 0, 0), 2)
    assert measured(drawing, Realism())['realism'] < 0.2 < 0.8 < measured(camera_picture(), Realism())['realism']
    assert measured(drawing, Realism())['flat_share'] > 0.7


@pytest.mark.parametrize('backbone, size', [('pixels', None), ('sapiens2_nano@random', (64, 48))])
def test_embeddings_of_copies_are_nearer_than_those_of_others(backbone, size):
    stage = Embedding(backbone, size=size, dtype='fp32')
    one, copy, other = (np.array(measured(picture, stage)['embedding']) for picture in (
        camera_picture(), cv2.resize(camera_picture(), (320, 240), interpolation=cv2.INTER_AREA), camera_picture(5)))
    assert np.linalg.norm(one - copy) < np.linalg.norm(one - other)


def test_a_portrait_is_not_nude():
    pytest.importorskip('nudenet')
    data = pytest.importorskip('skimage.data')
    record = measured(np.ascontiguousarray(data.astronaut()[..., ::-1]), Nudity())
    assert record['nudity'] < 0.2 and record['nudity_part'] is None


@pytest.mark.parametrize('size', [(1, 1), (2, 3000), (3000, 2)])
def test_pictures_of_any_shape_are_measured(size):
    record = measured(np.full((*size, 3), 90, np.uint8), Quality(), Realism())
    assert record['sharpness'] == 0 and 0 <= record['realism'] <= 1
