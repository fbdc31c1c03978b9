"""Cameras frame people as photographs do."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('anny')
pytest.importorskip('embreex')
from sapiens2.cli import synth as cli_synth  # noqa: E402
from sapiens2.synth import generate  # noqa: E402
from sapiens2.synth.crowd import make_people  # noqa: E402
from sapiens2.synth.make_set import SetOptions  # noqa: E402
from sapiens2.synth.people import make_person  # noqa: E402
from sapiens2.synth.render import framing, sample_camera  # noqa: E402
from sapiens2.synth.render.cameras import look_at, project  # noqa: E402
from sapiens2.synth.render.features import keypoint_index  # noqa: E402
from sapiens2.synth.scene import Camera  # noqa: E402

SIZE = (128, 96)


@pytest.fixture(scope='module')
def one():
    return [make_person(np.random.default_rng(0), pose='stand', age_group='adult')]


@pytest.fixture(scope='module')
def four():
    """The first crowd of four people."""
    return next(people for seed in range(100) if len(people := make_people(np.random.default_rng(seed))) == 4)


def _extent(camera, person):
    """Lowest and highest (x, y) of a person in shares of the picture."""
    pixels, depth = project(camera, person.mesh.vertices)
    assert (depth > 0).all()
    return pixels.min(0) / camera.size[::-1], pixels.max(0) / camera.size[::-1]


def test_the_whole_body_fills_most_of_the_height_with_margins(one):
    heights = []
    for seed in range(40):
        low, high = _extent(sample_camera(np.random.default_rng(seed), one, SIZE, 'whole'), one[0])
        assert (low > 0).all() and (high < 1).all()
        heights.append(high[1] - low[1])
    assert min(heights) > 0.55 and max(heights) < 0.92 and np.ptp(heights) > 0.15


@pytest.mark.parametrize('shot, inside, outside', [
    ('hips', ['nose', 'left_shoulder', 'left_hip', 'right_hip'], ['left_ankle', 'right_ankle']),
    ('bust', ['nose', 'left_shoulder', 'right_shoulder'], ['left_knee', 'right_knee']),
    ('face', ['nose', 'tip_of_chin', 'left_ear', 'right_ear'], ['left_knee', 'right_knee'])])
def test_what_is_cut_off(one, shot, inside, outside):
    index = keypoint_index()
    for seed in range(20):
        camera = sample_camera(np.random.default_rng(seed), one, SIZE, shot)
        pixels, _ = project(camera, one[0].keypoints)
        shown = ((pixels > -0.5) & (pixels < np.array(SIZE[::-1]) - 0.5)).all(1)
        assert shown[[index[name] for name in inside]].all() and not shown[[index[name] for name in outside]].any()
        height = one[0].mesh.rest[:, 1]
        crown, _ = project(camera, one[0].mesh.vertices[height > height.max() - 0.05])
        assert crown[:, 1].min() > -0.5, 'top of the head, hats included'


def test_everybody_is_in_the_picture(monkeypatch, four):
    monkeypatch.setattr(framing, 'EVERYBODY', 1.0)
    for seed in range(10):
        camera = sample_camera(np.random.default_rng(seed), four, SIZE, 'whole')
        for person in four:
            low, high = _extent(camera, person)
            assert (low > 0).all() and (high < 1).all()


SHOT_OF = tuple(framing.SHOTS)


@pytest.mark.parametrize('size', [(128, 96), (96, 128), (64, 256), (256, 64)])
def test_cameras_are_pinholes_outside_of_people_and_the_same_for_a_seed(four, size):
    for seed in range(15):
        camera, again = (sample_camera(np.random.default_rng(seed), four, size, SHOT_OF[seed % 4]) for _ in range(2))
        assert (camera.K == again.K).all() and (camera.position == again.position).all()
        assert np.allclose(camera.rotation @ camera.rotation.T, np.eye(3)) and camera.size == size
        assert camera.K[0, 0] == camera.K[1, 1] and camera.K[0, 0] >= 24 / 36 * max(size)
        assert camera.position[1] >= framing.LOWEST
        for person in four:
            assert np.abs(person.mesh.vertices - camera.position).max(1).min() > framing.NEAREST - 0.05


def test_a_camera_that_misses_people_is_drawn_again(monkeypatch):
    calls = []

    def draw(*options):
        camera = sample_camera(*options)
        calls.append(camera)
        if len(calls) > 3:
            return camera
        return Camera(camera.K, look_at(camera.position, camera.position + [0, 1, 0.1]), camera.position, camera.size)

    monkeypatch.setattr(generate, 'sample_camera', draw)
    sample = generate.Recipe(0, (24, 24))(0)
    assert len(calls) > 3 and (sample.instances > 0).mean() >= generate.LEAST_SHARE


def test_the_command_offers_the_shots_there_are():
    assert cli_synth.SHOTS == tuple(framing.SHOTS)


def test_fewer_people_and_shots_can_be_asked_for():
    assert {len(make_people(np.random.default_rng(seed), 1)) for seed in range(12)} == {1}
    sample = generate.Recipe(0, (64, 48), most_people=1, shots=('whole',))(3)
    assert len(sample.people) == 1
    assert all(visibility for _, _, visibility in sample.people[0]['keypoints'])


def test_several_pictures_of_a_person_differ_in_pose_and_camera_alone():
    recipe = generate.Recipe(0, (64, 48), most_people=1, shots=('whole',), pictures_per_person=2)
    first, second, other = (recipe(index) for index in range(3))
    whole = [sample.people[0]['description'] for sample in (first, second, other)]
    looks = [{name: value for name, value in text.items() if name not in ('pose', 'expression')} for text in whole]
    assert looks[0] == looks[1] and looks[0]['identity'] == '0-0-1' and looks[2]['identity'] == '0-1-1'
    assert looks[0]['wears'] and whole[0]['pose'] != whole[1]['pose'] and first.scene != second.scene
    assert {name for name in looks[0] if looks[0][name] != looks[2][name]} > {'identity', 'skin_darkness'}


def test_the_focal_length_is_along_the_longer_side_of_a_frame_of_36_mm():
    sample = generate.Recipe(0, (64, 48), most_people=1, shots=('whole',), focal_lengths=(50.0, 50.0))(1)
    assert sample.K[0, 0] == sample.K[1, 1] == pytest.approx(50 / 36 * 64, rel=0.02)


@pytest.mark.parametrize('wrong, message', [
    ({'shots': ()}, 'shots is empty; choose from whole, hips, bust, face'), ({'shots': ('fase',)}, "'fase'.*face"),
    ({'focal_lengths': (50, 20)}, 'focal_lengths are 50 to 20 mm; the shortest comes first'),
    ({'pictures_per_person': 0}, 'pictures_per_person is 0; it must be at least 1'),
    ({'most_people': 0}, 'most_people is 0; it must be from 1 to 4'), ({'most_people': 5}, 'from 1 to 4')])
def test_wrong_options_are_refused(wrong, message):
    with pytest.raises((ValueError, KeyError), match=message):
        SetOptions(**wrong)
