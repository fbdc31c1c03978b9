"""Ground truth of whole samples agrees with itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sapiens2.datasets.metainfo import load_metainfo

pytest.importorskip('anny')
pytest.importorskip('embreex')
from sapiens2.synth.crowd import CLEARANCE, make_people  # noqa: E402
from sapiens2.synth.generate import Recipe  # noqa: E402
from sapiens2.synth.people import make_person  # noqa: E402
from sapiens2.synth.render import render, sample_camera, sample_surroundings  # noqa: E402
from sapiens2.synth.render.environment import map_directions  # noqa: E402
from sapiens2.utils.pinhole import unproject

# Pixels of about half a centimetre: where they are wider, finite differences follow round surfaces less well.
SIZE = (512, 384)


@pytest.fixture(scope='module')
def samples():
    recipe = Recipe(seed=5, size=SIZE)
    return [recipe(index) for index in range(4)]


def pointmap_of(sample):
    return unproject(sample.depth, sample.K).astype(np.float64)


def test_labels_instances_and_fields_cover_the_same_pixels(samples):
    for sample in samples:
        mask = sample.instances > 0
        assert mask.mean() > 0.02
        for field in (sample.labels, sample.depth, np.abs(sample.normal).sum(-1), sample.albedo.sum(-1)):
            assert ((field > 0) == mask).all()
        assert sample.labels.max() < 29
        assert set(np.unique(sample.instances[mask])) == {person['instance'] for person in sample.people}
        for person in sample.people:
            own = sample.instances == person['instance']
            x, y, w, h = person['bbox']
            rows, columns = np.flatnonzero(own.any(1)), np.flatnonzero(own.any(0))
            assert person['area'] == own.sum()
            assert [x, y, x + w, y + h] == [columns[0] - 0.5, rows[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5]


def test_normals_are_those_of_the_pointmap(samples):
    for sample in samples:
        points = pointmap_of(sample)
        inner = (slice(1, -1), slice(1, -1))
        across = points[1:-1, 2:] - points[1:-1, :-2]
        down = points[2:, 1:-1] - points[:-2, 1:-1]
        normal = np.cross(down, across)
        normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
        # Off edges: all four neighbours show the same class of the same person, at nearly the same depth.
        key = sample.labels.astype(int) + 32 * sample.instances
        smooth = sample.instances[inner] > 0
        for y, x in ((0, 1), (2, 1), (1, 0), (1, 2)):
            view = (slice(y, SIZE[0] - 2 + y), slice(x, SIZE[1] - 2 + x))
            smooth &= (key[view] == key[inner])
            smooth &= np.abs(sample.depth[view] - sample.depth[inner]) < 0.01 * sample.depth[inner]
        angle = np.degrees(np.arccos(np.clip((normal * sample.normal[inner]).sum(-1), -1, 1)))[smooth]
        assert len(angle) > 2000 and np.median(angle) < 2
        mask = sample.instances > 0
        assert np.abs(np.linalg.norm(sample.normal[mask], axis=-1) - 1).max() < 1e-4
        assert ((sample.normal * points).sum(-1)[mask] < 0).all()


def test_the_pointmap_of_the_data_set_projects_to_its_pixel(samples):
    for sample in samples:
        y, x = np.nonzero(sample.instances)
        points = pointmap_of(sample)[y, x]
        seen = points @ sample.K.T
        assert np.abs(seen[:, :2] / seen[:, 2:] - np.stack([x, y], 1)).max() < 1e-2
        assert (points[:, 2] == sample.depth[y, x]).all()


def test_visible_key_points_lie_on_their_person_and_on_the_pointmap(samples):
    on_surface = make_person(np.random.default_rng(0)).on_surface
    count = 0
    for sample in samples:
        points = pointmap_of(sample)
        for person in sample.people:
            pixels = np.array(person['keypoints'])
            local = np.array(person['keypoints_3d'])
            own = sample.instances == person['instance']
            for i in np.flatnonzero(pixels[:, 2] == 2):
                corner = np.maximum(np.ceil(pixels[i, :2] - 2.01).astype(int), 0)
                window = (slice(corner[1], corner[1] + 5), slice(corner[0], corner[0] + 5))
                y, x = np.nonzero(own[window])
                near = np.hypot(*((x, y) + corner[:, None] - pixels[i, :2, None])) <= 2.01
                assert near.any()
                if on_surface[i]:
                    reach = max(0.02, 3 * local[i, 2] / sample.K[0, 0]) + 1e-3
                    assert np.linalg.norm(points[window][y, x][near] - local[i], axis=1).min() < reach
                    count += 1
            seen = pixels[:, 2] > 0
            assert ((pixels[seen, 0] > -0.51) & (pixels[seen, 0] < SIZE[1] - 0.49)).all()
            projected = local[seen] @ sample.K.T
            assert np.abs(projected[:, :2] / projected[:, 2:] - pixels[seen, :2]).max() < 0.1
    assert count > 100


def test_albedo_is_free_of_the_light():
    people = make_people(np.random.default_rng(1))
    camera = sample_camera(np.random.default_rng(2), people, SIZE, 'whole')
    place = sample_surroundings(np.random.default_rng(3), people, camera, 'room')
    sun = replace(place.lights[0], position=place.lights[0].position * [-1, 1, -1], intensity=np.float32([30, 12, 4]))
    up = map_directions(96)[0][:, 1].reshape(96, 192, 1)
    other = replace(place, lights=(sun,), environment=np.float32(0.2) + np.float32([0.1, 0.3, 0.9]) * (up > 0))
    first, second = (render(people, camera, scene, np.random.default_rng(4)) for scene in (place, other))
    for name in ('albedo', 'normal', 'depth', 'sem_seg', 'instance'):
        assert first[name].tobytes() == second[name].tobytes(), name
    assert np.abs(first['image'].astype(int) - second['image'])[first['mask']].mean() > 5


def test_left_and_right_points_are_on_their_sides():
    names = list(load_metainfo('sapiens308')['keypoint_names'])
    for seed in range(3):
        person = make_person(np.random.default_rng(seed), pose='stand', heading=0.0)
        for name in ('shoulder', 'hip', 'knee', 'ankle', 'ear'):
            # Heading 0 faces +z, so the person's left is at +x.
            assert person.keypoints[names.index(f'left_{name}'), 0] > person.keypoints[names.index(f'right_{name}'), 0]


def test_nobody_stands_in_anybody():
    for seed in (3, 4, 6, 8):
        people = make_people(np.random.default_rng(seed))
        for i, person in enumerate(people):
            for other in people[:i]:
                # Vertices are about a centimetre apart: compare each with all of the other's nearby ones.
                low, high = other.mesh.vertices.min(0) - CLEARANCE, other.mesh.vertices.max(0) + CLEARANCE
                own = person.mesh.vertices
                own = own[((own > low) & (own < high)).all(1)][::5]
                if len(own):
                    theirs = other.mesh.vertices[::3]
                    apart = min(np.linalg.norm(theirs[None] - part[:, None], axis=2).min()
                                for part in np.array_split(own, max(len(own) // 50, 1)))
                    assert apart > CLEARANCE
