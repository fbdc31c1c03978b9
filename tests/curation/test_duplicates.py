"""Perceptual hashes, and near ones among many."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from sapiens2.curation.duplicates import NearDuplicates, best_of_groups, groups_of
from sapiens2.curation.stages.hashes import INNER, key_bits, mirrored, perceptual_hash


def picture(seed, size=(240, 180)):
    """Blobs of several sizes: frequencies like those of a photograph."""
    rng = np.random.default_rng(seed)
    parts = [cv2.resize(rng.random((side, side)).astype(np.float32), size[::-1], interpolation=cv2.INTER_CUBIC) / side
             for side in (3, 5, 9, 17, 33)]
    total = sum(parts)
    return ((total - total.min()) / np.ptp(total) * 255).astype(np.uint8)


def hashes(pictures):
    whole, inner = [], []
    for grey in pictures:
        top, left = (round(side * INNER) for side in grey.shape)
        whole.append(perceptual_hash(grey))
        inner.append(perceptual_hash(grey[top:grey.shape[0] - top, left:grey.shape[1] - left]))
    return [np.frombuffer(b''.join(values), np.uint8).reshape(len(pictures), -1) for values in (whole, inner)]


def changed(grey, number):
    """A copy as people make them."""
    height, width = grey.shape
    kinds = [
        lambda: cv2.resize(grey, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA),
        lambda: cv2.imdecode(cv2.imencode('.jpg', grey, [cv2.IMWRITE_JPEG_QUALITY, 30])[1], cv2.IMREAD_GRAYSCALE),
        lambda: grey[round(0.02 * height):round(0.97 * height), round(0.03 * width):round(0.99 * width)],
        lambda: np.ascontiguousarray(grey[:, ::-1]),
    ]
    return kinds[number % len(kinds)]()


def test_the_hash_of_a_mirrored_picture_is_known_without_computing_it():
    grey = picture(0)
    whole, _ = hashes([grey])
    turned, _ = hashes([np.ascontiguousarray(grey[:, ::-1])])
    assert (mirrored(whole) == turned).all()


def test_key_bits_are_the_lowest_frequencies():
    bits = np.zeros((16, 16), dtype=bool)
    bits[1, 2] = True
    assert key_bits(np.packbits(bits)[None])[0] == 1 << (63 - 10)
    bits[1, 8] = bits[8, 1] = True
    assert key_bits(np.packbits(bits)[None])[0] == 1 << (63 - 10)


def test_planted_copies_are_found_and_nothing_else():
    originals = [picture(seed) for seed in range(300)]
    copies = [changed(originals[number], number) for number in range(120)]
    pairs = NearDuplicates().pairs(*hashes([*originals, *copies]))
    expected = {(number, 300 + number) for number in range(120)}
    found = set(map(tuple, pairs.tolist()))
    assert len(found & expected) >= 0.95 * len(expected)
    assert len(found - expected) <= 0.01 * len(found)


def test_mirror_images_are_kept_when_asked_for():
    grey = picture(1)
    both = hashes([grey, np.ascontiguousarray(grey[:, ::-1])])
    assert NearDuplicates().pairs(*both).tolist() == [[0, 1]]
    assert not len(NearDuplicates(mirrored=False).pairs(*both))


def test_thousands_of_equal_pictures_are_one_group():
    whole, inner = hashes([picture(0)])
    pairs = NearDuplicates(bands=2).pairs(np.repeat(whole, 3000, axis=0), np.repeat(inner, 3000, axis=0))
    assert groups_of(pairs, 3000).max() == 0
    assert len(pairs) < 3000 * 200  # each is compared with few


def test_the_best_of_a_group_stays_and_of_equal_ones_the_first():
    groups = np.array([0, 1, 0, 1, 2])
    assert best_of_groups(groups, np.array([1., 5., 3., 5., 0.])).tolist() == [2, 1, 2, 1, 4]


def test_no_picture_and_one_picture():
    whole, inner = hashes([picture(0)])
    assert NearDuplicates().pairs(whole, inner).shape == (0, 2)
    assert NearDuplicates().pairs(whole[:0], inner[:0]).shape == (0, 2)


@pytest.mark.parametrize('options', [{'distance': -1}, {'distance': 128}, {'bands': 0}])
def test_distances_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match='near_duplicates.distance'):
        NearDuplicates(**options)


def test_pictures_with_equal_hashes_are_paired_with_the_first_alone_and_groups_stay_whole():
    whole, inner = hashes([picture(seed) for seed in range(4)])
    order = np.array([2, 0, 0, 1, 2, 0, 3])
    pairs = NearDuplicates().pairs(whole[order], inner[order])
    assert pairs.tolist() == [[0, 4], [1, 2], [1, 5]]
    many = np.repeat([0, 1], 2000)
    pairs = NearDuplicates().pairs(whole[many], inner[many])
    assert len(pairs) == 3998
    assert (groups_of(pairs, 4000) == many).all()
