"""Whole videos through networks that cost nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from films import FakeCamera, FakeInferencer, make_film, moving_finder

from sapiens2.apis.box_finder import BoxFinder
from sapiens2.apis.outputs import OutputOptions, collect_coco
from sapiens2.apis.person_boxes import PersonBoxes
from sapiens2.apis.video import VideoInput, VideoOptions, run_video
from sapiens2.apis.video.reader import open_video
from sapiens2.apis.video.records import frame_stems

av = pytest.importorskip('av')
pytest.importorskip('scipy')
AT_ONCE = VideoOptions(save_every=0.0)


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def frames_of(path):
    reader = open_video(VideoInput(str(path), 'x'))
    return list(reader.frames()), reader


@pytest.fixture
def film(tmp_path):
    return make_film(tmp_path / 'a.mp4', sound='aac')


@pytest.fixture
def weights(tmp_path):
    (tmp_path / 'w').write_bytes(b'weights')
    return tmp_path / 'w'


def test_two_tasks_in_one_pass(film, tmp_path):
    inferencer = FakeInferencer(('pose', 'seg'))
    summary = run_video(inferencer, film, tmp_path / 'out', boxes=moving_finder())
    assert summary.frames == 12 and not summary.problems and inferencer.seen == list(range(12))
    assert [Path(file).relative_to(tmp_path / 'out').as_posix() for file in summary.files] \
        == ['pose/a.jsonl', 'pose/a.mp4', 'seg/a.jsonl', 'seg/a.mp4']
    header, *frames, end = lines(summary.files[0])
    assert header['kind'] == 'header' and header['schema'] == 'sapiens2/video' and header['width'] == 64
    assert len(header['keypoint_names']) == 17 and header['boxes_from'] == 'test'
    assert [(frame['frame'], frame['time_s']) for frame in frames] == [(n, n / 10) for n in range(12)]
    assert all([person['track_id'] for person in frame['instances']] == [1] for frame in frames)
    assert end == {'kind': 'end', 'frames': 12, 'problems': []}
    assert lines(summary.files[2])[1]['pixels'].keys() <= {'Background', 'Apparel'}
    for name in (1, 3):
        shown, reader = frames_of(summary.files[name])
        assert [float(frame.time) for frame in shown] == pytest.approx([n / 10 for n in range(12)], abs=1e-3)
        assert shown[0].pixels.shape == (48, 64, 3) and reader.has_audio
    assert sorted(path.name for path in (tmp_path / 'out' / 'pose').iterdir()) == ['a.jsonl', 'a.mp4']


def test_results_of_another_film_of_this_name_are_kept(film, tmp_path):
    (tmp_path / 'other').mkdir()
    other = make_film(tmp_path / 'other' / 'a.mp4')
    out = tmp_path / 'out'
    run_video(FakeInferencer(), film, out, boxes=moving_finder())
    before = (out / 'pose' / 'a.jsonl').read_bytes()
    with pytest.raises(ValueError, match='results of another video.*--overwrite'):
        run_video(FakeInferencer(), other, out, boxes=moving_finder())
    assert (out / 'pose' / 'a.jsonl').read_bytes() == before
    run_video(FakeInferencer(), other, out, boxes=moving_finder(), resume=False)
    assert lines(out / 'pose' / 'a.jsonl')[0]['video'] == str(other)
    other.unlink()
    run_video(FakeInferencer(), film, out, boxes=moving_finder())
    with pytest.raises(ValueError, match='folder for the results is empty'):
        run_video(FakeInferencer(), film, '')


def test_smoothing_can_be_left_out(film, tmp_path):
    points = {}
    for smooth in (True, False):
        options = VideoOptions(smooth=smooth, film=False)
        summary = run_video(FakeInferencer(), film, tmp_path / str(smooth), options, boxes=moving_finder())
        points[smooth] = np.array([line['instances'][0]['keypoints'] for line in lines(summary.files[0])[1:-1]])
    jumps = {smooth: np.abs(np.diff(values, 2, axis=0)).mean() for smooth, values in points.items()}
    assert jumps[True] < 0.8 * jumps[False]
    assert not list(tmp_path.glob('*/pose/*.mp4'))


def test_the_scale_of_pointmaps_is_smoothed_and_the_metres_with_it(film, tmp_path):
    summary = run_video(FakeInferencer(('pointmap',)), film, tmp_path / 'out', VideoOptions(frame_files=True))
    scales = [line['scale'] for line in lines(summary.files[0])[1:-1]]
    assert np.abs(np.diff(scales)).max() < 0.12 and scales[0] == 1
    stored = np.load(tmp_path / 'out' / 'pointmap' / 'a' / '000005.npz')
    assert float(stored['scale'].reshape(-1)[0]) == pytest.approx(scales[5])
    assert stored['pointmap'][0, 0, 2] == pytest.approx(3 / scales[5], rel=1e-4)


def test_side_by_side_and_a_part_of_the_film(film, tmp_path):
    options = VideoOptions(side_by_side=True, every=2, start=0.3, end=1.0)
    summary = run_video(FakeInferencer(), film, tmp_path, options, boxes=moving_finder())
    assert [line['frame'] for line in lines(summary.files[0])[1:-1]] == [4, 6, 8]
    with av.open(summary.files[1]) as shown:
        times, widths = zip(*((frame.time, frame.width) for frame in shown.decode(video=0)))
    assert times == pytest.approx([0.1, 0.3, 0.5], abs=1e-3) and widths == (128,) * 3
    with pytest.raises(ValueError, match='no frame from 50 s on'):
        run_video(FakeInferencer(), film, tmp_path, VideoOptions(start=50.0), boxes=moving_finder())


@pytest.mark.parametrize('error', [KeyboardInterrupt, OSError])
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(error, film, tmp_path, weights):
    whole = run_video(FakeInferencer(('pose', 'pointmap'), weights), film, tmp_path / 'whole', AT_ONCE,
                      boxes=moving_finder())
    with pytest.raises(error):
        run_video(FakeInferencer(('pose', 'pointmap'), weights, stop=7, error=error), film, tmp_path / 'out', AT_ONCE,
                  boxes=moving_finder())
    assert not list((tmp_path / 'out').glob('*/*.mp4'))
    assert [line['frame'] for line in lines(tmp_path / 'out/pose/a.jsonl')[1:]] == list(range(7))
    for part in (tmp_path / 'out/pose/a.parts').glob('*.mp4'):
        assert frames_of(part)[0]
    with (tmp_path / 'out/pose/a.jsonl').open('a') as file:
        file.write('{"kind": "frame", "fra')  # as of a killed process
    inferencer = FakeInferencer(('pose', 'pointmap'), weights)
    summary = run_video(inferencer, film, tmp_path / 'out', AT_ONCE, boxes=moving_finder())
    assert inferencer.seen == list(range(7, 12)) and summary.continued_from == 7 and summary.frames == 12
    for first, second in zip(whole.files, summary.files):
        if first.endswith('.jsonl'):
            assert lines(first) == lines(second)
        else:
            assert [frame.time for frame in frames_of(first)[0]] == [frame.time for frame in frames_of(second)[0]]


def test_what_is_finished_is_not_made_again(film, tmp_path, weights, monkeypatch):
    def run(video=film, **options):
        inferencer = FakeInferencer(('pose',), weights)
        summary = run_video(inferencer, video, tmp_path / 'out', boxes=moving_finder(), **options)
        return summary.finished_before, len(inferencer.seen)
    assert run() == (False, 12)
    assert run() == (True, 0)
    monkeypatch.chdir(tmp_path)
    assert run('a.mp4') == (True, 0), 'the same file'
    assert run(resume=False) == (False, 12)
    assert run(options=VideoOptions(cutoff=2.0)) == (False, 12)
    weights.write_bytes(b'other')
    assert run(options=VideoOptions(cutoff=2.0)) == (False, 12)
    (tmp_path / 'out/pose/a.mp4').unlink()
    assert run(options=VideoOptions(cutoff=2.0)) == (False, 12)


def test_a_killed_process_loses_what_was_not_saved_alone(tmp_path, film, weights):
    code = ('import os, sys; from pathlib import Path; from films import *; from sapiens2.apis.video import *\n'
            'class Killed(BaseException):\n    def __init__(self): os._exit(9)\n'
            f'run_video(FakeInferencer(("pose",), Path({str(weights)!r}), 5, Killed), {str(film)!r}, '
            f'{str(tmp_path / "out")!r}, VideoOptions(save_every=0.0), boxes=moving_finder())')
    tests, root = Path(__file__).parents[2], Path(__file__).parents[3]
    done = subprocess.run([sys.executable, '-c', code], env={'PYTHONPATH': f'{root}:{tests}', 'OMP_NUM_THREADS': '1'},
                          timeout=120)
    assert done.returncode == 9
    inferencer = FakeInferencer(('pose',), weights)
    summary = run_video(inferencer, film, tmp_path / 'out', AT_ONCE, boxes=moving_finder())
    assert inferencer.seen[0] >= 4 and summary.frames == 12
    assert [line.get('frame') for line in lines(summary.files[0])[1:-1]] == list(range(12))


def test_a_camera_has_a_film_of_what_came_until_it_was_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(cv2, 'VideoCapture', FakeCamera)
    problems = []

    class Report:
        def follow(self, name, results, total):
            assert name == 'camera0' and total is None
            return iter(results)

        add_problem = staticmethod(problems.append)
    finder = BoxFinder(lambda *given: PersonBoxes(np.array([[2.0, 2, 20, 18]]), np.ones(1)), 'test')
    summary = run_video(FakeInferencer(), 'camera:0', tmp_path, report=Report(), boxes=finder)
    assert summary.frames == 3 and len(frames_of(summary.files[1])[0]) == 3
    assert len(problems) == 1 and 'lost' in problems[0]
    stopped = run_video(FakeInferencer(stop=2), 'camera:0', tmp_path, boxes=finder)  # Ctrl-C
    assert stopped.frames == 2 and len(frames_of(stopped.files[1])[0]) == 2


def test_boxes_of_a_file_and_frames_without_people(film, tmp_path):
    boxes = tmp_path / 'boxes.json'
    boxes.write_text(json.dumps([
        {'image_id': 3, 'bbox': [5, 5, 20, 30], 'score': 0.9, 'category_id': 1},
        {'image_id': 3, 'bbox': [5, 5, 20, 29], 'score': 0.8, 'category_id': 1},
        {'image_id': 3, 'bbox': [90, 5, 20, 29], 'score': 0.8, 'category_id': 1}]))
    summary = run_video(FakeInferencer(), film, tmp_path / 'out', VideoOptions(film=False), boxes=str(boxes))
    frames = lines(summary.files[0])[1:-1]
    assert [len(frame['instances']) for frame in frames] == [0, 0, 0, 1] + [0] * 8
    assert 'outside the image' in frames[3]['skipped_boxes'][0] and 'does not know' in frames[4]['message']
    boxes.write_text(boxes.read_text().replace('"image_id": 3', '"image_id": 333'))
    summary = run_video(FakeInferencer(), film, tmp_path / 'out', VideoOptions(film=False), boxes=str(boxes))
    assert 'of none of its frames' in summary.problems[0]


@pytest.mark.parametrize('options, text', [
    ({'every': 0}, 'every'), ({'start': 2.0, 'end': 1.0}, 'start and end'), ({'cutoff': 0.0}, 'cutoff'),
    ({'speed_cutoff': -1.0}, 'speed_cutoff')])
def test_settings_that_make_no_sense(options, text):
    with pytest.raises(ValueError, match=text):
        VideoOptions(**options)


def test_problems_of_a_film_are_named_again(tmp_path, weights):
    whole = make_film(tmp_path / 'whole.mkv', 20)
    (tmp_path / 'cut.mkv').write_bytes(whole.read_bytes()[:whole.stat().st_size * 3 // 4])
    problems = []
    report = SimpleNamespace(follow=lambda name, results, total: iter(results), add_problem=problems.append)
    for is_again in (False, True):
        summary = run_video(FakeInferencer(('seg', 'pointmap'), weights), tmp_path / 'cut.mkv', tmp_path / 'out',
                            report=report)
        assert summary.finished_before == is_again and len(summary.problems) == 1
    assert len(problems) == 2 and problems[0] == problems[1] and 'cut off' in problems[0]


def test_coco_results_of_films(film, tmp_path, weights):
    other = make_film(tmp_path / 'b.mp4', 4)
    outputs = OutputOptions(pose=('json', 'coco'), picture=False)
    options = VideoOptions(film=False, frame_files=True, every=2, start=0.15)
    for video in (film, other):
        run_video(FakeInferencer(), video, tmp_path / 'out', options, boxes=moving_finder(), outputs=outputs)
    found = {}
    for stems in (['a'], ['a', 'b']):
        path, = collect_coco(tmp_path / 'out', outputs, [
            name for stem in stems for name in frame_stems(tmp_path / 'out', stem)])
        found[len(stems)] = json.loads(path.read_text())
    assert [record['image_id'] for record in found[1]] == [2, 4, 6, 8, 10]
    assert [record['image_id'] for record in found[2]] == [
        *(f'a/{number:06d}' for number in (2, 4, 6, 8, 10)), 'b/000002'], 'one number would be two frames'
    frames = lines(tmp_path / 'out/pose/a.jsonl')[1:-1]
    for record, frame in zip(found[1], frames):
        person = frame['instances'][0]
        assert frame['time_s'] == record['image_id'] / 10 and record['track_id'] == person['track_id'] == 1
        triples = np.array(record['keypoints']).reshape(17, 3)
        assert np.array_equal(triples[:, :2], person['keypoints'])
