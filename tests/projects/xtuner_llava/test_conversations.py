"""What is said of pictures is what their annotations say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from projects.xtuner_llava import make_conversations
from projects.xtuner_llava.coco_facts import coco_pictures
from projects.xtuner_llava.conversations import IMAGE, caption_record, describe, dialogue_record, turns
from projects.xtuner_llava.facts import Person, Picture, from_left_to_right, raised, shown
from projects.xtuner_llava.synth_facts import synth_pictures
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import COCO17_NAMES, load_metainfo

LEFT = Person((0.0, 0.1, 0.2, 0.9), shown='from head to foot', does='walks', hair='short hair', wears=('a dress',))
RIGHT = Person((0.7, 0.0, 1.0, 1.0), shown='head and shoulders', face_seen=True, raised=('left',), expression='smiles')


def test_a_description_names_people_from_the_left() -> None:
    picture = Picture('a.jpg', from_left_to_right([RIGHT, LEFT]), 'outdoors')
    assert describe(picture) == (
        'Two people outdoors. The first person from the left walks, is shown from head to foot, has short hair and '
        'wears a dress. The second person from the left is on the right and shows head and shoulders.')
    assert describe(Picture('b.jpg', ())) == 'Nobody.'


def test_questions_are_answered_by_the_facts_and_by_nothing_else() -> None:
    answers = dict(turns(Picture('a.jpg', (RIGHT,))))
    assert answers == {
        'How many people are in the picture?': 'There is one person.',
        'Where is the person?': 'The person is on the right, in the box [0.70, 0.00, 1.00, 1.00].',
        'How much of the person is in the picture?': 'Head and shoulders.',
        'Is the face of the person seen?': 'Yes.',
        'Which hands has the person raised above the shoulders?': 'The left hand.',
        'What does the face of the person say?': 'The person smiles.',
    }
    assert dict(turns(Picture('b.jpg', ())))['How many people are in the picture?'] == 'There is nobody.'


def test_records_have_the_format_of_llava() -> None:
    picture = Picture('train/images/000007.jpg', (LEFT, RIGHT), 'in a room')
    for record in (caption_record(picture), dialogue_record(picture)):
        assert record['image'] == picture.file
        spoken = record['conversations']
        assert [turn['from'] for turn in spoken] == ['human', 'gpt'] * (len(spoken) // 2)
        assert [IMAGE in turn['value'] for turn in spoken] == [True] + [False] * (len(spoken) - 1)
    assert dialogue_record(picture) == dialogue_record(picture)
    assert len(dialogue_record(picture)['conversations']) == 8


def points(**known: tuple[float, float, int]) -> dict[str, tuple[float, float, float]]:
    return {name: known.get(name, (0.0, 0.0, 0)) for name in COCO17_NAMES}


def test_the_lowest_point_says_how_much_is_shown() -> None:
    assert shown(points(nose=(5, 5, 2), left_hip=(5, 50, 1))) == 'from head to hips'
    assert shown(points(nose=(5, 5, 2))) == 'the face alone'
    assert shown(points(left_ankle=(5, 50, 2))) is None


def test_hands_above_shoulders_count_where_all_four_points_are_known() -> None:
    shoulders = dict(left_shoulder=(0, 50, 2), right_shoulder=(9, 50, 2))
    assert raised(points(**shoulders, left_wrist=(0, 20, 2), right_wrist=(9, 80, 1))) == ('left',)
    assert raised(points(**shoulders, left_wrist=(0, 20, 2))) is None


def coco(folder: Path, **changes: Any) -> Path:
    """Annotations of one picture with one person, one crowd of another picture, and one picture without people."""
    folder.mkdir(exist_ok=True)
    for name in ('one', 'crowd', 'empty'):
        cv2.imwrite(str(folder / f'{name}.jpg'), np.zeros((80, 60, 3), np.uint8))
    keypoints = [[30, 10, 2]] * 5 + [[20, 30, 2]] * 4 + [[20, 15, 2]] * 2 + [[30, 60, 2]] * 6
    person = {'id': 1, 'image_id': 0, 'category_id': 1, 'bbox': [10, 5, 40, 70], 'area': 2800, 'iscrowd': 0,
              'keypoints': np.array(keypoints).flatten().tolist(), **changes}
    content = {
        'images': [{'id': index, 'file_name': f'{name}.jpg', 'height': 80, 'width': 60}
                   for index, name in enumerate(('one', 'crowd', 'empty'))],
        'annotations': [person, {'id': 2, 'image_id': 1, 'category_id': 1, 'bbox': [0, 0, 60, 80], 'iscrowd': 1},
                        {'id': 3, 'image_id': 2, 'category_id': 18, 'bbox': [0, 0, 60, 80], 'iscrowd': 0}]}
    path = folder / 'annotations.json'
    path.write_text(json.dumps(content))
    return path


def test_coco_gives_people_and_leaves_crowds_out(tmp_path: Path) -> None:
    one, empty = coco_pictures(coco(tmp_path), tmp_path)
    assert (one.file, empty.file, empty.people) == ('one.jpg', 'empty.jpg', ())
    person = one.people[0]
    assert person.where == 'in the middle' and person.shown == 'from head to foot'
    assert person.face_seen and person.raised == ('left', 'right')


@pytest.mark.parametrize(('changes', 'message'), [
    ({'bbox': [10, 5, 0, 70]}, 'bbox'), ({'keypoints': [1, 2, 2]}, 'keypoints must hold 51'),
    ({'image_id': 9}, 'image_id')])
def test_coco_with_a_fault_is_an_error_that_names_it(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        list(coco_pictures(coco(tmp_path, **changes), tmp_path))
    assert 'annotation 1' in str(error.value)


def test_coco_without_its_pictures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='--images'):
        list(coco_pictures(coco(tmp_path), tmp_path / 'elsewhere'))


def synth(root: Path) -> Path:
    """A folder as `sapiens2 synth` makes it, one picture a split: one person, and one who is four pixels large."""
    names, classes = load_metainfo('sapiens308')['keypoint_names'], load_metainfo('seg29')['classes']
    labels = np.zeros((64, 48), np.uint8)
    labels[4:12, 4:20], labels[12:30, 4:20] = classes.index('Hair'), classes.index('Upper_Clothing')
    instances = np.uint8(labels > 0)
    instances[60:62, 40:42], labels[60:62, 40:42] = 2, classes.index('Lower_Clothing')
    keypoints = {name: [10.0, 8.0, 2] for name in ('nose', 'left_eye', 'left_shoulder')}
    described = {'hair': 'bun', 'expression': 'smile', 'pose': {'family': 'sit'},
                 'wears': ['trousers', 'tshirt', 'jacket']}
    people = [{'instance': 1, 'bbox': [4, 4, 16, 26], 'area': 416, 'description': described,
               'keypoints': [keypoints.get(name, [0, 0, 0]) for name in names]},
              {'instance': 2, 'bbox': [40, 60, 2, 2], 'area': 4}]
    for split in ('train', 'val'):
        for kind in ('people', 'labels', 'instances'):
            (root / split / kind).mkdir(parents=True)
        cv2.imwrite(str(root / split / 'labels/000000.png'), labels)
        cv2.imwrite(str(root / split / 'instances/000000.png'), instances)
        (root / split / 'people/000000.json').write_text(json.dumps({'people': people, 'scene': {'place': 'room'}}))
    return root


def test_of_generated_people_what_is_seen_is_said(tmp_path: Path) -> None:
    picture, = synth_pictures(synth(tmp_path), 'val')
    assert picture.file == 'val/images/000000.jpg' and picture.place == 'in a room'
    person, = picture.people
    # The trousers are not in the picture, the jacket is over the T-shirt, one eye is hidden, hips and knees outside.
    assert person.wears == ('a jacket',) and person.hair == 'a bun'
    assert person.face_seen is False and person.expression is None and person.does is None
    assert person.box == pytest.approx((4 / 48, 4 / 64, 20 / 48, 30 / 64))


def test_a_damaged_description_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (synth(tmp_path) / 'val/people/000000.json').write_text('{"people": [{"area": 400}]}')
    with pytest.raises(DataError, match='000000.json'):
        list(synth_pictures(tmp_path, 'val'))


def test_the_command_writes_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr('sys.argv', ['', 'synth', str(synth(tmp_path / 'synth')), '--out', str(tmp_path / 'out')])
    assert make_conversations.main() == 0
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == [
        'train_captions.json', 'train_dialogues.json', 'val_captions.json', 'val_dialogues.json']
    monkeypatch.setattr('sys.argv', ['', 'synth', str(tmp_path / 'nowhere'), '--out', str(tmp_path / 'out')])
    assert make_conversations.main() == 1
    assert 'sapiens2 synth' in capsys.readouterr().err
