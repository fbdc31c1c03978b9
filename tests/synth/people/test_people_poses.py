"""Poses: canonical stance, families, joint limits, mirrored variants, no gross self-intersection."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.synth.people.collision import TOLERANCE, make_collision_body, penetration
from sapiens2.synth.people.limbs import ImpossiblePose, Posing
from sapiens2.synth.people.measures import measure
from sapiens2.synth.people.phenotype import AGE_GROUPS, sample_phenotype, shape_body
from sapiens2.synth.people.poses import FAMILIES, draw_pose
from sapiens2.synth.people.rotations import about, angle_between, between, frame, twist_about_y
from sapiens2.synth.people.skeleton import DOWN, joint_positions, make_skeleton, skin, transforms
from sapiens2.synth.people.template import SKIN_COUNT, load_template
from sapiens2.utils.suggest import UnknownNameError


def body(seed: int = 0, group: str = 'adult'):
    template = load_template()
    vertices = shape_body(template, sample_phenotype(np.random.default_rng(seed), template, group), {})
    return template, vertices, make_skeleton(template, vertices)


def test_rotations() -> None:
    assert np.allclose(about('x', 90) @ [0, 1, 0], [0, 0, 1])
    assert np.allclose(about('y', 90) @ [0, 0, 1], [1, 0, 0])
    turn = between(np.array([1.0, 2, 3]), np.array([-2.0, 0.5, 1]))
    assert np.allclose(turn @ turn.T, np.eye(3)) and angle_between(turn @ [1, 2, 3], np.array([-2, 0.5, 1])) < 1e-5
    assert angle_between(between(DOWN, -DOWN) @ DOWN, -DOWN) < 1e-5
    assert twist_about_y(between(DOWN, np.array([1.0, -1, 1])) @ about('y', 33)) == pytest.approx(33)
    assert np.allclose(frame(DOWN, np.array([0, 0, 1.0])), np.eye(3))


@pytest.mark.parametrize('group', AGE_GROUPS)
def test_canonical_stance_stands_straight(group: str) -> None:
    _, _, skeleton = body(3, group)
    posing = Posing.canonical(skeleton)
    places = dict(zip(skeleton.bones, joint_positions(skeleton, posing.turns, posing.root)))
    for side in 'LR':
        for first, last in (('upperarm01', 'lowerarm01'), ('lowerarm01', 'wrist'), ('upperleg01', 'lowerleg01'),
                            ('lowerleg01', 'foot'), ('finger3-1', 'finger3-3')):
            assert angle_between(places[f'{last}.{side}'] - places[f'{first}.{side}'], DOWN) < 0.1, (first, side)
        # The palm faces the thigh: the forefinger is in front of the little finger.
        across = places[f'finger2-1.{side}'] - places[f'finger5-1.{side}']
        assert angle_between(across, np.array([0, 0, 1.0])) < 25
        assert angle_between(places[f'toes.{side}'] - places[f'foot.{side}'], np.array([0, 0, 1.0])) < 60


def test_skinning_moves_rigidly_with_one_turn_for_all_bones() -> None:
    template, vertices, skeleton = body()
    turns = np.stack([about('y', 40) @ canonical.T for canonical in skeleton.canonical])
    posed = skin(vertices, template.weights, transforms(skeleton, turns, about('y', 40) @ skeleton.heads[0]))
    assert np.abs(posed - vertices @ about('y', 40).T).max() < 1e-4


@pytest.mark.parametrize('family', FAMILIES)
def test_families_keep_bones_rigid_and_mostly_free_of_collisions(family: str) -> None:
    template, vertices, skeleton = body(5)
    size = measure(skeleton, vertices[:SKIN_COUNT], template.weights[:SKIN_COUNT])
    solid = make_collision_body(skeleton, vertices[:SKIN_COUNT])
    rng, depths, flips = np.random.default_rng(1), [], set()
    for _ in range(16):
        try:
            posing, text = draw_pose(rng, skeleton, size, family)
        except ImpossiblePose:
            continue
        flips.add(text['mirrored'])
        assert np.abs(posing.turns @ posing.turns.transpose(0, 2, 1) - np.eye(3)).max() < 1e-6
        assert np.allclose(np.linalg.det(posing.turns), 1)
        for side in 'LR':
            knee = angle_between(posing.turn(f'upperleg02.{side}') @ DOWN, posing.turn(f'lowerleg01.{side}') @ DOWN)
            elbow = angle_between(posing.turn(f'upperarm02.{side}') @ DOWN, posing.turn(f'lowerarm01.{side}') @ DOWN)
            assert knee < 151 and elbow < 149
        depths.append(penetration(solid, skeleton, transforms(skeleton, posing.turns, posing.root)))
    assert len(depths) >= 5 and flips == {True, False}
    assert np.mean(np.asarray(depths) < TOLERANCE) > 0.3


def test_penetration_sees_a_hand_in_the_chest() -> None:
    _, vertices, skeleton = body(5)
    solid = make_collision_body(skeleton, vertices[:SKIN_COUNT])
    posing = Posing.canonical(skeleton)
    for side, sign in (('L', 1), ('R', -1)):
        posing.set(f'upperarm01.{side}', about('z', sign * 70))
        posing.set(f'upperleg01.{side}', about('z', sign * 8))
    assert penetration(solid, skeleton, transforms(skeleton, posing.turns, posing.root)) < TOLERANCE
    posing.set('upperarm01.L', about('z', 25))
    posing.set('lowerarm01.L', about('y', 70) @ about('x', -100))
    posing.set('lowerarm01.L', about('z', -95))
    assert penetration(solid, skeleton, transforms(skeleton, posing.turns, posing.root)) > 0.03


def test_unknown_family_is_an_error_with_the_nearest_name() -> None:
    template, vertices, skeleton = body()
    size = measure(skeleton, vertices[:SKIN_COUNT], template.weights[:SKIN_COUNT])
    with pytest.raises(UnknownNameError, match='stand'):
        draw_pose(np.random.default_rng(0), skeleton, size, 'stnd')
