"""Ground truth of balls, against what geometry says."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.synth.render import Photo, render
from sapiens2.synth.render.cameras import look_at, pixel_grid
from sapiens2.synth.scene import Camera, Material

CENTRE = np.array([0.1, 0.9, 0.2])


@pytest.fixture
def result(ball, camera, surroundings):
    return render([ball(CENTRE)], camera, surroundings(), np.random.default_rng(0), Photo())


def _local(camera, point):
    return camera.rotation @ (np.asarray(point) - camera.position)


def _depth_of_ball(camera):
    """(H, W) depth of a ball of 0.5 m around CENTRE; of the nearest point of rays that miss it."""
    rays = np.concatenate([pixel_grid(camera.size), np.ones((128 * 96, 1))], 1) @ np.linalg.inv(camera.K).T
    length = np.linalg.norm(rays, axis=1)
    along = (rays / length[:, None]) @ _local(camera, CENTRE)
    distance = along - np.sqrt(np.maximum(0.25 - (_local(camera, CENTRE)**2).sum() + along**2, 0))
    return (distance / length).reshape(camera.size)


def _difference_angles(result, points):
    """Angles in degrees between normals and those of the pointmap's differences, where all neighbours are known."""
    mask = result['mask']
    across, down = points[1:-1, 2:] - points[1:-1, :-2], points[2:, 1:-1] - points[:-2, 1:-1]
    whole = mask[1:-1, 2:] & mask[1:-1, :-2] & mask[2:, 1:-1] & mask[:-2, 1:-1] & mask[1:-1, 1:-1]
    normals = np.cross(down, across)[whole]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    cosine = (normals * result['normal'][1:-1, 1:-1][whole]).sum(1)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def test_fields_have_their_types_and_agree(result, camera):
    size = camera.size
    assert result['image'].shape == (*size, 3) and result['image'].dtype == np.uint8
    for name in ('normal', 'albedo'):
        assert result[name].shape == (*size, 3) and result[name].dtype == np.float32
        assert not result[name][~result['mask']].any()
    assert result['depth'].dtype == np.float32 and ((result['depth'] > 0) == result['mask']).all()
    assert ((result['sem_seg'] == 3) == result['mask']).all() and ((result['instance'] == 1) == result['mask']).all()
    assert (result['K'] == camera.K).all()
    assert 0.1 < result['mask'].mean() < 0.6


def test_depth_is_that_of_the_ball(result, camera):
    error = np.abs(result['depth'] - _depth_of_ball(camera))[result['mask']]
    assert np.median(error) < 1e-4 and np.percentile(error, 95) < 0.01


def test_normals_are_unit_face_the_camera_and_are_those_of_the_ball(result, camera, pointmap_of):
    mask = result['mask']
    normals, points = result['normal'][mask], pointmap_of(result)[mask]
    assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() < 1e-5
    assert ((normals * points).sum(1) < 0).all()
    expected = points - _local(camera, CENTRE)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.median(np.degrees(np.arccos(np.clip((normals * expected).sum(1), -1, 1)))) < 1


def test_normals_agree_with_differences_of_the_pointmap(result, pointmap_of):
    assert np.median(_difference_angles(result, pointmap_of(result))) < 0.5


def test_coarse_meshes_look_round(ball, camera, surroundings, pointmap_of):
    coarse = render([ball(CENTRE, rings=20)], camera, surroundings(), np.random.default_rng(0))
    # Triangles of 8 cm lie up to 3 mm inside the ball, and are turned from it by 3 degrees in the mean.
    assert np.median(np.abs(coarse['depth'] - _depth_of_ball(camera))[coarse['mask']]) < 1e-3
    assert np.median(_difference_angles(coarse, pointmap_of(coarse))) < 1.5


def test_albedo_knows_no_light(ball, camera, surroundings):
    person = ball(CENTRE)
    first = render([person], camera, surroundings(), np.random.default_rng(0))
    second = render([person], camera, surroundings((3, 2, 1), (5, 20, 90), 0.2), np.random.default_rng(1))
    for name in ('albedo', 'normal', 'depth', 'sem_seg'):
        assert (first[name] == second[name]).all()
    assert np.abs(first['image'].astype(int) - second['image']).mean() > 5
    albedo = first['albedo'][first['mask']]
    assert np.abs(albedo.mean(0) / person.materials[0].color - 1).max() < 0.1 and albedo.std(0).min() > 0.002


def test_textures_stick_to_the_body(ball, camera, surroundings):
    material = Material('fabric', np.float32([0.7, 0.1, 0.1]), 'checks', np.float32([[0.1, 0.1, 0.6]]), 0.15)
    near = render([ball((0, 1, 0), material=material)], camera, surroundings(), np.random.default_rng(0))
    aside = render([ball((4 / 160 * 20, 1, 0), material=material)], camera, surroundings(), np.random.default_rng(0))
    # Twenty pixels at the depth of the centre; the surface is nearer, so compare colours around the middle only.
    first, second = near['albedo'][60:68, 44:50], aside['albedo'][60:68, 66:73]
    assert np.abs(first.mean((0, 1)) - second.mean((0, 1))).max() < 0.08


def test_same_seed_gives_the_same_bytes(ball, camera, surroundings):
    photo = Photo(noise=2.0, jpeg=90, blur=0.5, aperture=2.0, vignetting=0.2)
    first, second = (render([ball(CENTRE)], camera, surroundings(), np.random.default_rng(5), photo) for _ in range(2))
    other = render([ball(CENTRE)], camera, surroundings(), np.random.default_rng(6), photo)
    assert (first['image'] == second['image']).all() and (first['image'] != other['image']).any()
    assert (first['normal'] == second['normal']).all()


def test_nearer_people_cover_others(ball, camera, surroundings):
    behind, before = ball((0, 1, -1), label=22), ball((0.3, 1, 0.8), 0.3, label=23)
    result = render([behind, before], camera, surroundings(), np.random.default_rng(0))
    labels, instances = result['sem_seg'], result['instance']
    assert set(np.unique(instances)) == {0, 1, 2}
    assert (labels[instances == 1] == 22).all() and (labels[instances == 2] == 23).all()
    x, y = (result['persons'][1]['bbox'].reshape(2, 2).mean(0)).astype(int)
    assert instances[y, x] == 2
    assert [person['area'] for person in result['persons']] == [(instances == 1).sum(), (instances == 2).sum()]


def test_lenses_show_what_is_behind(ball, camera, surroundings):
    glass = Material('lens', np.float32([0.9, 0.9, 0.9]), roughness=0.05)
    lens, face = ball((0, 1, 0), 0.5, label=2, material=glass), ball((0, 1, 0), 0.3)
    result = render([lens, face], camera, surroundings(), np.random.default_rng(0))
    assert (result['sem_seg'][result['mask']] == 2).all()
    middle = result['albedo'][64, 47]
    assert np.abs(middle / (0.9 * face.materials[0].color) - 1).max() < 0.25
    lit = render([face], camera, surroundings(), np.random.default_rng(0))
    assert np.abs(result['image'][64, 47].astype(int) - lit['image'][64, 47]).max() < 70


def test_too_many_people_are_refused(ball, camera, surroundings):
    person = ball(CENTRE, rings=2)
    with pytest.raises(ValueError, match='255'):
        render([person] * 256, camera, surroundings(), np.random.default_rng(0))


def test_pictures_may_show_nobody_or_nothing(ball, camera, surroundings):
    away = Camera(camera.K, camera.rotation, camera.position + [50, 3, 0], camera.size)
    up = Camera(camera.K, look_at(camera.position, camera.position + [0, 1, 0.2]), camera.position, camera.size)
    glass = Material('lens', np.float32([0.9, 0.9, 0.9]))
    persons = [ball(CENTRE), ball(CENTRE, 0.6, material=glass)]
    for view in (away, up):
        result = render(persons, view, surroundings(), np.random.default_rng(0), Photo(aperture=2, noise=1))
        assert not result['mask'].any() and not result['depth'].any() and result['image'].mean() > 20
        assert result['persons'][0]['bbox'] is None and result['persons'][0]['area'] == 0
