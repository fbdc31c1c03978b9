"""What sets are balanced by: framing, truncation, company, light and skin."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from sapiens2.curation.chain import Chain
from sapiens2.curation.stages.attributes import Attributes, framing, luminance
from sapiens2.curation.stages.skin import SkinTone, tone, typology_angle


def attributes(picture, people=(), faces=(), scale=1):
    record = {'index': 0, 'name': 'made', 'picture': picture, 'height': picture.shape[0] * scale,
              'person_boxes': (np.array(people, dtype=float) * scale).ravel().tolist(),
              'face_boxes': (np.array(faces, dtype=float) * scale).ravel().tolist()}
    Attributes().run([record])
    assert set(Attributes.outputs) <= set(record)
    return record


GREY = np.full((200, 100, 3), 128, dtype=np.uint8)
FACE = [40, 10, 60, 30]


@pytest.mark.parametrize(('bottom', 'name'), [(40, 'face'), (70, 'bust'), (120, 'half'), (190, 'full')])
def test_framing_is_how_much_is_seen_below_the_face(bottom, name):
    assert framing(np.array([20, 5, 80, bottom]), np.array(FACE)) == name
    assert attributes(GREY, [[20, 5, 80, bottom]], [FACE], scale=4)['framing'] == name


def test_boxes_at_edges_and_under_others():
    record = attributes(GREY, [[0, 5, 60, 200], [30, 0, 100, 200]], [[10, 20, 20, 30]])
    assert record['cut_sides'] == 2  # left and bottom
    assert record['covered'] == pytest.approx(0.5, abs=0.05)
    assert attributes(GREY, [[20, 20, 60, 180]])['covered'] == 0
    assert attributes(GREY, [[20, 20, 60, 180]])['cut_sides'] == 0


def test_the_main_person_has_the_largest_face():
    record = attributes(GREY, [[50, 50, 80, 195], [0, 0, 45, 199]], [[55, 55, 75, 75], [10, 10, 20, 20]])
    assert record['cut_sides'] == 0


def test_light_from_behind():
    picture = np.full((200, 100, 3), 230, dtype=np.uint8)
    picture[5:180, 20:80] = 40
    behind = attributes(picture, [[20, 5, 80, 180]], [FACE])
    assert behind['backlight'] == pytest.approx(np.log2(luminance(picture)[0, 0] / luminance(picture)[50, 50]), abs=0.1)
    assert attributes(255 - picture, [[20, 5, 80, 180]], [FACE])['backlight'] < -2
    assert attributes(GREY, [[20, 5, 80, 180]])['backlight'] == pytest.approx(0, abs=0.01)
    assert attributes(GREY, [[0, 0, 100, 200]])['backlight'] is None  # nothing of the surroundings is seen
    assert behind['light_contrast'] > 20 > attributes(GREY)['light_contrast'] == 0
    assert attributes(GREY)['light'] == pytest.approx(0.216, abs=0.001)


def test_without_people():
    record = attributes(GREY)
    assert [record[name] for name in ('framing', 'cut_sides', 'covered', 'backlight')] == [None] * 4
    assert attributes(GREY, [[20, 5, 80, 180]])['framing'] is None  # no face, no measure of length


def face_picture(lightness, blue_yellow):
    """Skin of these CIE L* and b* in a face, gloss and shade besides, in front of blue."""
    lab = np.float32([[[lightness, 12, blue_yellow]]])
    colour = cv2.cvtColor(lab, cv2.COLOR_LAB2BGR)[0, 0] * 255
    picture = np.full((300, 300, 3), (200, 60, 20), dtype=np.uint8)
    cv2.ellipse(picture, (150, 150), (80, 110), 0, 0, 360, colour.tolist(), -1)
    rng = np.random.default_rng(0)
    mesh = np.column_stack((rng.uniform(75, 225, 468), rng.uniform(50, 250, 468)))
    mesh[[50, 205, 280, 425, 151, 108, 337]] = [[100, 150], [115, 175], [200, 150], [185, 175], [150, 80], [120, 85],
                                                [180, 85]]
    cv2.circle(picture, (200, 150), 6, (255, 255, 255), -1)
    picture[:, 95:101] //= 3
    return picture, mesh


@pytest.mark.parametrize(('lightness', 'blue_yellow'), [(75, 15), (60, 18), (45, 18), (30, 15)])
def test_the_typology_angle_of_skin_whose_colour_is_known(lightness, blue_yellow):
    expected = np.degrees(np.arctan2(lightness - 50, blue_yellow))
    assert typology_angle(*face_picture(lightness, blue_yellow)) == pytest.approx(expected, abs=4)


def test_bins_of_skin():
    assert [tone(angle) for angle in (60, 55, 35, 20, 0, -31)] == [
        'very light', 'light', 'intermediate', 'tan', 'brown', 'dark']


def test_no_face_and_no_colour_give_no_angle():
    picture, mesh = face_picture(60, 18)
    grey = cv2.cvtColor(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
    records = [{'index': number, 'name': 'made', 'picture': one, 'face_mesh': points} for number, (one, points) in
               enumerate([(picture, None), (grey, mesh), (picture, mesh)])]
    SkinTone().run(records)
    assert [record['skin_tone'] for record in records] == [None, None, 'intermediate']


def test_the_stages_fit_together():
    chain = Chain([dict(type='Decode'), dict(type='Faces'), dict(type='PeopleByFaces'), dict(type='Attributes'),
                   dict(type='SkinTone')])
    assert {'framing', 'backlight', 'skin_tone'} <= set(chain.columns)
    assert not chain.columns['face_mesh'].stored
