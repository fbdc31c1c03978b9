"""Images in, results out, with networks small enough to run in a blink."""

from __future__ import annotations

import errno
import json
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from safetensors.torch import save_file

from sapiens2.apis import Sapiens2Inferencer
from sapiens2.apis.outputs import Camera, OutputOptions, depth_to_millimetres
from sapiens2.utils.task_models import dataset_meta, model_configs, task_config
from sapiens2.utils.image_io import read_image, read_labels, write_image
from sapiens2.utils.tasks import TASKS

SMALL_HEADS = {
    'pose': dict(deconv_out_channels=(8, 8), conv_out_channels=(8, 8, 8)),
    'seg': dict(deconv_out_channels=(8, 8, 8, 8), conv_out_channels=(8, 8)),
    'normal': dict(upsample_channels=(8, 8, 8, 8), conv_out_channels=(8, 8, 8)),
    'albedo': dict(upsample_channels=(8, 8, 8, 8), conv_out_channels=(8, 8, 8)),
    'pointmap': dict(upsample_channels=(8, 8, 8, 8), conv_out_channels=(8, 8, 8), scale_conv_out_channels=(8,),
                     scale_conv_kernel_sizes=(1,), scale_final_layer=(32, 4, 1)),
}


def small_config(task: str) -> Config:
    cfg = task_config(task, 'sapiens2_0.1b')
    cfg.model.backbone.arch = 'sapiens2_nano'
    cfg.model.decode_head.update(SMALL_HEADS[task])
    return cfg


def make(task: str, **options) -> Sapiens2Inferencer:
    torch.manual_seed(0)
    options = {'device': 'cpu', 'dtype': 'fp32', 'img_size': (64, 48), **options}
    return Sapiens2Inferencer(task, small_config(task), **options)


def photo(height: int = 50, width: int = 70, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def share_of_equal_points(first: np.ndarray, second: np.ndarray) -> float:
    """Heat maps of a random network have twin peaks, of which rounding chooses one."""
    return float((np.abs(first - second).max(axis=-1) < 0.05).mean())


@pytest.fixture(scope='module')
def pose() -> Sapiens2Inferencer:
    return make('pose')


@pytest.fixture(scope='module')
def seg() -> Sapiens2Inferencer:
    return make('seg')


@pytest.mark.parametrize('shape', [(50, 70), (1, 1), (3, 200), (120, 2)])
@pytest.mark.parametrize('task', ['seg', 'normal', 'pointmap', 'albedo'])
def test_maps_have_the_size_of_the_image_and_become_files(task, shape, tmp_path):
    result, = make(task)(photo(*shape), out_dir=tmp_path)
    assert result['error'] is None and result['image_size'] == shape and result['weights'] == 'random'
    field = 'sem_seg' if task == 'seg' else task
    assert result[field].shape[:2] == shape
    names = [Path(name).relative_to(tmp_path).as_posix() for name in result['files']]
    assert names == [f'{task}/000000.png', f'{task}/000000.npz', f'{task}/000000.picture.jpg']
    assert sorted(path.name for path in (tmp_path / task).iterdir()) == sorted(Path(name).name for name in names)
    stored = np.load(tmp_path / names[1])
    assert stored[field].shape == result[field].shape
    assert np.allclose(stored[field], result[field], atol=2e-3)
    if task == 'seg':
        assert (read_labels(tmp_path / names[0]) == result[field]).all()
        assert stored['classes'][0] == 'Background' and len(stored['classes']) == 29
    elif task == 'pointmap':
        assert stored['scale'].shape == (1,)
        assert read_labels(tmp_path / names[0]).shape == shape
    else:
        assert read_image(tmp_path / names[0]).shape == (*shape, 3)
    if task == 'normal':
        assert np.allclose(np.linalg.norm(result[field], axis=-1), 1, atol=1e-3)
    assert read_image(tmp_path / names[2]).shape[0] >= shape[0]


def test_the_picture_of_a_result_without_files(seg, pose):
    for inferencer, options in ((seg, {}), (pose, dict(whole_image=True))):
        image = photo()
        result, = inferencer(image, **options)
        drawn = inferencer.draw(image, result)
        assert result['files'] == [] and drawn.dtype == np.uint8 and drawn.shape[0] >= image.shape[0]


def test_depth_image_is_millimetres():
    depth = np.array([[1.2345, 0.0, -1.0, 70.0, np.nan, 0.0001]])
    assert depth_to_millimetres(depth).tolist() == [[1234, 0, 0, 65535, 0, 1]]


def test_pose_json_tells_everything(pose, tmp_path):
    write_image(tmp_path / 'in' / 'a.png', photo())
    result, = pose(tmp_path / 'in', boxes=[np.array([[5, 5, 40, 45], [20, 0, 70, 50.0]])], out_dir=tmp_path / 'out')
    assert result['keypoints'].shape == (2, 308, 2) and result['keypoint_scores'].shape == (2, 308)
    document = json.loads((tmp_path / 'out/pose/a.json').read_text(encoding='utf-8'))
    assert document['schema'] == 'sapiens2/pose' and document['schema_version'] == '1.2'
    assert document['image'] == {'id': 'a', 'file': str(tmp_path / 'in/a.png'), 'width': 70, 'height': 50}
    assert document['weights'] == 'random' and document['message'] is None and document['skipped_boxes'] == []
    assert document['keypoint_names'][0] == 'nose' and len(document['keypoint_names']) == 308
    assert all(len(link) == 2 for link in document['skeleton'])
    person = document['instances'][1]
    assert person['bbox'] == [20, 0, 70, 50] and person['bbox_score'] == 1
    assert np.allclose(person['keypoints'], result['keypoints'][1], atol=1e-3)
    assert np.allclose(person['keypoint_scores'], result['keypoint_scores'][1], atol=1e-4)


def test_keypoints_follow_the_box(pose):
    """A crop of the same content elsewhere gives the same points, moved."""
    image = np.zeros((200, 200, 3), np.uint8)
    image[20:84, 10:58] = image[120:184, 110:158] = photo(64, 48)
    boxes = np.array([[20, 30, 48, 70], [120, 130, 148, 170.0]])
    result, = pose(image, boxes=boxes)
    assert share_of_equal_points(result['keypoints'][0] + 100, result['keypoints'][1]) > 0.8


def test_a_peak_in_the_middle_is_the_middle_of_the_box(pose, monkeypatch):
    """Boxes of any shape, cut at the centres of the last pixels of the image."""
    y, x = torch.meshgrid(torch.arange(16) - 7.5, torch.arange(12) - 5.5, indexing='ij')
    peak = torch.exp(-(x**2 + y**2) / 8).expand(1, 308, 16, 12)
    monkeypatch.setattr(pose.networks['pose'].model.decode_head, 'forward',
                        lambda feats: peak.expand(len(feats[0]), -1, -1, -1))
    result, = pose(photo(50, 70), boxes=np.array([[10, 10, 20, 30], [5, 20, 45, 25], [-30, 10, 30, 90.0]]))
    centers = np.array([[15, 20], [25, 22.5], [15, 29.5]])
    assert np.allclose(result['keypoints'], centers[:, None], atol=0.3)


def test_sixty_people_go_in_batches(pose):
    rng = np.random.default_rng(1)
    corners = rng.uniform(0, 30, (60, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(5, 20, (60, 2))], axis=1)
    calls = []
    backbone = pose.networks['pose'].model.backbone
    handle = backbone.register_forward_pre_hook(lambda module, inputs: calls.append(len(inputs[0])))
    many, = pose(photo(), boxes=boxes, batch_size=16)
    handle.remove()
    # Twice, for the mirrored image.
    assert sorted(calls) == sorted([16, 16, 16, 12] * 2)
    one_by_one, = pose(photo(), boxes=boxes[:3], batch_size=1)
    assert share_of_equal_points(many['keypoints'][:3], one_by_one['keypoints']) > 0.9


def test_batches_reach_across_images_and_keep_the_order(pose):
    images = [photo(40 + index, 60, index) for index in range(5)]
    boxes = [np.array([[0, 0, 30, 40.0]] * count) for count in (1, 0, 3, 1, 2)]
    results = pose(images, boxes=boxes, batch_size=4)
    assert [result['image_size'][0] for result in results] == [40, 41, 42, 43, 44]
    assert [len(result['keypoints']) for result in results] == [1, 0, 3, 1, 2]
    alone, = pose(images[3], boxes=boxes[3])
    assert share_of_equal_points(alone['keypoints'], results[3]['keypoints']) > 0.9


def test_unusable_boxes_are_named_and_the_rest_is_done(pose, tmp_path):
    boxes = [[np.nan, 0, 5, 5], [3, 3, 3, 9], [500, 0, 600, 50], [-20, -20, 30, 30], [60, 40, 90, 90]]
    result, = pose(photo(), boxes=np.array(boxes), out_dir=tmp_path)
    assert len(result['keypoints']) == 2 and result['message'] is None
    assert ['finite' in result['skipped_boxes'][0], 'empty' in result['skipped_boxes'][1],
            'outside' in result['skipped_boxes'][2]] == [True] * 3
    assert result['skipped_boxes'][2].startswith('box 2 ')
    assert result['bboxes'].tolist() == boxes[3:]
    nobody, = pose(photo(), boxes=np.array(boxes[:3]), out_dir=tmp_path)
    assert nobody['message'] == 'no people: none of the 3 boxes is usable'


def test_nobody_is_an_empty_result_that_says_so(pose, tmp_path):
    for name in ('known', 'unknown', 'person', 'faint'):
        write_image(tmp_path / 'in' / f'{name}.png', photo())
    table = tmp_path / 'people.json'
    table.write_text(json.dumps({
        'images': [{'id': 1, 'file_name': 'known.png'}, {'id': 2, 'file_name': 'person.png', 'width': 70, 'height': 50},
                   {'id': 3, 'file_name': 'faint.png'}],
        'annotations': [{'image_id': 2, 'bbox': [5, 5, 30, 30]}, {'image_id': 3, 'bbox': [5, 5, 9, 9], 'score': 0.1}]}))
    results = pose(tmp_path / 'in', boxes=table, out_dir=tmp_path / 'out')
    messages = {Path(result['path']).stem: result['message'] for result in results}
    assert messages == {'known': 'no people: people.json has no box for this image', 'person': None,
                        'unknown': 'no people: people.json does not know this image',
                        'faint': 'no people: people.json has no box for this image with a score that is high enough '
                                 '(1 below)'}
    document = json.loads((tmp_path / 'out/pose/known.json').read_text())
    assert document['instances'] == [] and document['message'].startswith('no people')
    assert (tmp_path / 'out/pose/known.picture.jpg').is_file()


def test_whole_image(pose):
    result, = pose(photo(1, 1), whole_image=True)
    assert result['bboxes'].tolist() == [[0, 0, 1, 1]] and result['boxes_from'] == 'whole image'


def test_pose_without_boxes_and_detector_explains_all_ways(pose, seg, monkeypatch):
    def missing(self):
        raise ImportError('that needs a package')

    monkeypatch.setattr('sapiens2.detectors.face_people.FacePeople.setup', missing)
    with pytest.raises(ValueError, match='(?s)--boxes FILE.*--detector.*--whole-image'):
        pose.iterate(photo())
    with pytest.raises(ValueError, match='are for pose'):
        seg.iterate(photo(), whole_image=True)


def test_files_that_cannot_be_read_do_not_stop_the_others(seg, tmp_path):
    folder = tmp_path / 'in'
    write_image(folder / 'good.1.png', photo())
    whole = (folder / 'good.1.png').read_bytes()
    (folder / 'cut.png').write_bytes(whole[:len(whole) // 2])
    (folder / 'empty.jpg').write_bytes(b'')
    (folder / 'text.JPG').write_text('no picture')
    results = {Path(result['path']).name: result for result in seg(folder, out_dir=tmp_path / 'out', batch_size=2)}
    assert results['good.1.png']['error'] is None
    for name in ('cut.png', 'empty.jpg', 'text.JPG'):
        assert name in results[name]['error'] and results[name]['files'] == []
    assert sorted(path.name for path in (tmp_path / 'out/seg').iterdir()) == [
        'good.1.npz', 'good.1.picture.jpg', 'good.1.png', 'journal.jsonl']


def test_read_only_inputs_twins_and_folders(seg, tmp_path):
    folder = tmp_path / 'in'
    for name in ('a.png', 'a.JPG', 'deep/er/ü b.bmp'):
        write_image(folder / name, photo())
    before = sorted(path for path in folder.rglob('*'))
    for path in [folder, *before]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        results = seg(folder, out_dir=tmp_path / 'new' / 'out', outputs=OutputOptions(picture=False))
    finally:
        for path in [folder, *before]:
            path.chmod(0o755)
    assert sorted(path for path in folder.rglob('*')) == before
    out = tmp_path / 'new' / 'out' / 'seg'
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob('*.npz')) == [
        'a.JPG.npz', 'a.png.npz', 'deep/er/ü b.npz']
    assert len(results) == 3 and not list(out.rglob('*.jpg'))


def test_results_appear_while_inputs_are_read(seg, monkeypatch):
    """A folder of any length needs the memory of a few batches."""
    from sapiens2.apis.image_sources import ImageSource
    read = []
    original = ImageSource.read
    monkeypatch.setattr(ImageSource, 'read', lambda source: read.append(source.stem) or original(source))
    results = seg.iterate([photo()] * 60, batch_size=2)
    next(results)
    assert len(read) < 20
    assert len(list(results)) == 59


def test_values_that_are_not_finite_are_an_error_of_that_image():
    inferencer = make('normal')
    with torch.no_grad():
        inferencer.networks['normal'].model.decode_head.conv_normal.bias.fill_(float('nan'))
    result, = inferencer(photo())
    assert 'not finite' in result['error'] and 'fp32' in result['error']


def test_bf16_keeps_the_digits_of_the_last_layer():
    inferencer = make('albedo', dtype='bf16')
    assert next(inferencer.networks['albedo'].model.backbone.parameters()).dtype == torch.bfloat16
    result, = inferencer(photo())
    albedo = torch.from_numpy(result['albedo'])
    assert (albedo != albedo.bfloat16().float()).any()


def test_an_image_that_cannot_be_prepared_does_not_stop_the_others(pose, monkeypatch):
    network = pose.networks['pose']
    whole = network.pipeline

    def fragile(data):
        if data['bboxes'][0, 0] == 13:
            raise ValueError('too odd')
        return whole(data)

    monkeypatch.setattr(network, 'pipeline', fragile)
    boxes = [[[1, 1, 20, 20]], [[1, 1, 20, 20], [13, 1, 20, 20], [1, 1, 20, 20]], [[1, 1, 20, 20]]]
    results = pose([photo()] * 3, boxes=boxes, batch_size=2)
    assert [result['error'] is None for result in results] == [True, False, True]
    assert results[1]['error'] == '000001: cannot be prepared for the network: too odd'


def test_weights_are_loaded_and_named(seg, tmp_path):
    path = tmp_path / 'weights.safetensors'
    save_file({name: tensor.contiguous() for name, tensor in seg.networks['seg'].model.state_dict().items()}, path)
    loaded = Sapiens2Inferencer('seg', small_config('seg'), path, 'cpu', 'fp32', (64, 48))
    image = photo()
    first, second = seg(image)[0], loaded(image)[0]
    assert second['weights'] == 'weights.safetensors'
    assert (first['sem_seg'] == second['sem_seg']).all()


def test_every_task_and_size_has_a_config():
    for task in TASKS:
        known = model_configs(task)
        assert {f'sapiens2_{size}' for size in ('0.1b', '0.4b', '0.8b', '1b', '5b')} <= known.keys()
        for name, file in known.items():
            assert task_config(task, name).model.backbone.arch == name.removesuffix('-4k')
            assert file.parent.name == task


def test_unknown_names_offer_the_nearest():
    with pytest.raises(ValueError, match="'normals'.*Did you mean 'normal'"):
        Sapiens2Inferencer('normals')
    with pytest.raises(ValueError, match="'sapiens2_1B5'.*'sapiens2_1b'"):
        Sapiens2Inferencer('seg', 'sapiens2_1B5')
    with pytest.raises(ValueError, match='network for seg.*not for pose'):
        Sapiens2Inferencer('pose', small_config('seg'))
    with pytest.raises(ValueError, match="'bf61'.*'bf16'"):
        Sapiens2Inferencer('seg', dtype='bf61')
    with pytest.raises(ValueError, match="'cpuu'.*'cpu'"):
        Sapiens2Inferencer('seg', device='cpuu')
    with pytest.raises(ValueError, match='flip_test is for pose'):
        make('seg', flip_test=True)


def test_classes_follow_the_config():
    cfg = small_config('seg')
    assert dataset_meta('seg', cfg)['classes'][4] == 'Hair'
    cfg.model.decode_head.num_classes = 3
    assert dataset_meta('seg', cfg) == {'classes': ['class 0', 'class 1', 'class 2']}
    cfg.test_dataloader.dataset.classes = ['sky', 'sea', 'land']
    assert dataset_meta('seg', cfg)['classes'] == ['sky', 'sea', 'land']
    result, = Sapiens2Inferencer('seg', cfg, device='cpu', dtype='fp32', img_size=(64, 48))(photo())
    assert result['sem_seg'].max() <= 2


def test_an_impossible_name_is_skipped_and_the_rest_is_done(seg, tmp_path):
    for name in ('a', 'x' * 250, 'z'):
        write_image(tmp_path / 'in' / f'{name}.png', photo())
    (tmp_path / 'out' / 'seg' / 'z.npz').mkdir(parents=True)
    results = seg(tmp_path / 'in', out_dir=tmp_path / 'out')
    assert [result['error'] is None for result in results] == [True, False, False]
    assert all('cannot be written' in result['error'] for result in results[1:])
    assert not list((tmp_path / 'out').rglob('.partial*'))


def test_a_full_disk_stops_the_run_and_names_the_file(seg, tmp_path, monkeypatch):
    def full(self, content):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(Path, 'write_bytes', full)
    with pytest.raises(OSError, match=r'No space left on device: .*000000\.png'):
        seg(photo(), out_dir=tmp_path / 'out')
    assert not [path for path in (tmp_path / 'out').rglob('*') if path.is_file()]


def test_classes_made_of_nan_are_no_result():
    broken = make('seg')
    torch.nn.init.constant_(broken.networks['seg'].model.decode_head.conv_seg.bias, float('nan'))
    good, = make('seg')(photo())
    bad, = broken(photo())
    assert good['error'] is None and 'not finite' in bad['error'] and 'sem_seg' not in bad


def test_a_name_that_is_no_unicode_is_kept(pose, tmp_path):
    name = os.fsdecode(b'\xff.png')
    try:
        write_image(tmp_path / 'in' / name, photo())
    except OSError:
        pytest.skip('this file system takes Unicode names only')
    result, = pose(tmp_path / 'in', whole_image=True, out_dir=tmp_path / 'out')
    assert json.loads(Path(result['files'][0]).read_text(encoding='utf-8'))['image']['file'] == result['path']


def test_random_weights_may_be_named():
    inferencer = Sapiens2Inferencer('normal', model='sapiens2_tiny', weights='random', device='cpu')
    assert inferencer.networks['normal'].weights_name == 'random'


def test_a_map_of_persons_and_soft_scores_on_request(seg, tmp_path):
    options = OutputOptions(seg=('png', 'soft', 'people'), picture=False)
    with pytest.raises(ValueError, match='format people'):
        seg.iterate(photo(), whole_image=True)
    result, = seg(photo(), boxes=np.array([[0, 0, 30, 49], [35, 0, 69, 49.0]]), out_dir=tmp_path, outputs=options)
    assert result['error'] is None and len(result['files']) == 3
    owners = read_labels(result['files'][2])
    is_somebody = result['sem_seg'] > 0
    assert (owners[:, 40:][is_somebody[:, 40:]] == 2).all() and (owners[~is_somebody] == 0).all()
    assert result['seg_probs'].shape == (29, 50, 70)
    assert np.allclose(result['seg_probs'].astype(np.float32).sum(0), 1, atol=0.01)
    assert 'seg_probs' not in seg(photo())[0]


def test_a_known_camera_and_segmentation_reach_the_pointmap(tmp_path):
    camera = Camera(60, 60, 34.5, 24.5)
    formats = OutputOptions(pointmap=('npz', 'ply'), seg=('png', 'people-npz'), picture=False)
    free, = make('pointmap')(photo(), outputs=formats)
    known, = make('pointmap')(photo(), outputs=replace(formats, camera=camera), out_dir=tmp_path)
    assert np.allclose(known['pointmap'][..., 2], free['pointmap'][..., 2] * 60 / free['focal'], rtol=1e-4)
    stored = np.load(tmp_path / 'pointmap/000000.npz')
    assert str(stored['K_from']) == 'given' and stored['K'].tolist() == [[60, 0, 34.5], [0, 60, 24.5], [0, 0, 1]]
    outside, = make('pointmap')(photo(), outputs=OutputOptions(camera=Camera(60, 60, 200, 200)))
    assert 'principal point' in outside['error']
    several = make('seg')
    several.networks.update(make('pointmap').networks)
    boxes = [np.array([[0, 0, 30, 49.0]])]
    seg_result, result = several(photo(), outputs=formats, boxes=boxes, out_dir=tmp_path / 'both')
    assert (result['mask'] == (seg_result['sem_seg'] > 0)).all()
    assert (tmp_path / 'both/seg/000000.people.npz').is_file()


def test_autocast_of_the_caller_changes_nothing(tmp_path):
    inferencer = make('normal')
    expected = inferencer(photo())[0]['normal']
    with torch.autocast('cpu', dtype=torch.bfloat16):
        assert np.array_equal(inferencer(photo())[0]['normal'], expected)
        assert np.array_equal(inferencer(photo(), out_dir=tmp_path)[0]['normal'], expected)


@pytest.mark.parametrize('task', TASKS)
def test_an_inferencer_can_be_pickled(task):
    inferencer, options = make(task), {'whole_image': True} if task == 'pose' else {}
    expected = inferencer(photo(), **options)[0]
    found = pickle.loads(pickle.dumps(inferencer))(photo(), **options)[0]
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(found[name], value)
