"""``sapiens2 features``: files of tokens."""

from __future__ import annotations

import cv2
import numpy as np
import torch
from safetensors.numpy import load_file

from sapiens2.cli.main import main
from sapiens2.evaluation.probes import FeatureModel, build_backbone, parse_backbone
from sapiens2.evaluation.probes.backbones import Tokens
from sapiens2.evaluation.probes.extract import patches_inside
from sapiens2.weights import embedded_weights

OPTIONS = ('--model', 'sapiens2_nano', '--weights', 'random', '--size', '64', '48', '--dtype', 'fp32')


def test_tokens_in_both_formats_and_what_is_skipped(tmp_path, capsys):
    image = np.random.default_rng(0).integers(0, 256, (64, 48, 3), dtype=np.uint8)
    (tmp_path / 'photos' / 'ann').mkdir(parents=True)
    cv2.imwrite(str(tmp_path / 'photos' / 'ann' / 'a.b.png'), image)
    (tmp_path / 'photos' / 'broken.jpg').write_bytes(b'nothing')
    model = build_backbone(parse_backbone('sapiens2_nano@random'), (64, 48), 'cpu', 'fp32')
    expected = model(torch.from_numpy(image).permute(2, 0, 1)[None])
    for file_format, read in (('npz', np.load), ('safetensors', load_file)):
        out = tmp_path / file_format
        assert main(['features', str(tmp_path / 'photos'), *OPTIONS, '--out', str(out), '--format', file_format,
                     '--pictures']) == 1
        found = read(out / 'ann' / f'a.b.{file_format}')
        for name in ('cls', 'mean', 'patches'):
            np.testing.assert_allclose(found[name], getattr(expected, name)[0].numpy(), rtol=1e-5, atol=1e-5)
        assert found['patches'].shape == (4, 3, 64)
        assert cv2.imread(str(out / 'ann' / 'a.b_pca.png')).shape == (64, 48, 3)
        assert 'broken.jpg' in capsys.readouterr().err


def test_short_names_and_the_weights_of_the_package(tmp_path, capsys):
    image = np.random.default_rng(0).integers(0, 256, (64, 48, 3), dtype=np.uint8)
    cv2.imwrite(str(tmp_path / 'a.png'), image)
    assert main(['features', str(tmp_path / 'a.png'), '--model', 'tiny', '--out', str(tmp_path / 'out'), '--size', '64',
                 '48', '--dtype', 'fp32']) == 0
    weights = embedded_weights('seg', 'sapiens2_tiny')
    model = build_backbone(parse_backbone(f'sapiens2_tiny@{weights}'), (64, 48), 'cpu', 'fp32')
    expected = model(torch.from_numpy(image).permute(2, 0, 1)[None]).patches[0].numpy()
    np.testing.assert_allclose(np.load(tmp_path / 'out' / 'a.npz')['patches'], expected, rtol=1e-5, atol=1e-5)
    assert parse_backbone('tiny@random').config['arch'] == 'sapiens2_tiny'
    capsys.readouterr()
    for words, said in ((('--model', '1b'), '--model 1b comes without weights: give a checkpoint, --weights FILE'),
                        (('--model', 'tinyy', '--weights', 'random'), "Did you mean 'tiny'")):
        assert main(['features', str(tmp_path / 'a.png'), *words, '--out', str(tmp_path / 'out')]) == 2
        assert said in capsys.readouterr().err


def test_nothing_to_start_with(tmp_path, capsys):
    assert main(['features', str(tmp_path), '--out', str(tmp_path / 'out')]) == 2
    assert 'name a checkpoint' in capsys.readouterr().err
    assert main(['features', str(tmp_path / 'none'), *OPTIONS, '--out', str(tmp_path / 'out')]) == 2
    assert 'no such file or folder' in capsys.readouterr().err


def test_borders_are_told_and_left_out_of_the_pictures(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (32, 48, 3), dtype=np.uint8)
    cv2.imwrite(str(tmp_path / 'wide.png'), image)
    assert main(['features', str(tmp_path / 'wide.png'), *OPTIONS, '--out', str(tmp_path / 'out'), '--pictures']) == 0
    found = np.load(tmp_path / 'out' / 'wide.npz')
    assert found['rows'].tolist() == [1, 3] and found['columns'].tolist() == [0, 3]  # 16 black rows above and below
    drawn = cv2.imread(str(tmp_path / 'out' / 'wide_pca.png'))
    assert not drawn[:16].any() and not drawn[48:].any() and drawn[16:48].max() == 255 and drawn[16:48].std() > 20


def test_patches_inside_are_those_whose_centre_is():
    assert patches_inside((0, 0, 8, 9), (64, 48), (4, 3)) == (slice(0, 3), slice(0, 3))
    assert patches_inside((0, 0, 9, 8), (64, 48), (4, 3)) == (slice(1, 4), slice(0, 3))
    assert patches_inside((0, 0, 31, 32), (64, 48), (4, 3)) == (slice(2, 3), slice(0, 3))  # one row of pixels


def test_batches_and_workers_are_used_and_change_nothing(tmp_path, monkeypatch):
    (tmp_path / 'photos').mkdir()
    for number in range(5):
        image = np.random.default_rng(number).integers(0, 256, (64, 48, 3), dtype=np.uint8)
        cv2.imwrite(str(tmp_path / 'photos' / f'{number}.png'), image)
    (tmp_path / 'photos' / '1b.png').write_bytes(b'nothing')
    sizes, call = [], FeatureModel.__call__
    monkeypatch.setattr(FeatureModel, '__call__', lambda self, images: sizes.append(len(images)) or call(self, images))
    for out, options in (('one', ()), ('many', ('--batch-size', '3', '--workers', '1'))):
        assert main(['features', str(tmp_path / 'photos'), *OPTIONS, '--out', str(tmp_path / out), *options]) == 1
    assert sizes == [1] * 5 + [2, 3]
    for number in range(5):
        one, many = (np.load(tmp_path / out / f'{number}.npz') for out in ('one', 'many'))
        for name in one.files:
            np.testing.assert_allclose(one[name], many[name], rtol=1e-5, atol=1e-5)


def _pictures(folder, *names):
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(names):
        image = np.random.default_rng(number).integers(0, 256, (64, 48, 3), dtype=np.uint8)
        cv2.imwrite(str(folder / name), image)


def test_a_run_goes_on_and_nothing_is_overwritten(tmp_path, monkeypatch, capsys):
    _pictures(tmp_path / 'photos', 'a.png', 'b.png')
    out = tmp_path / 'photos' / 'out'  # inside the inputs: its own pictures are none
    seen, call = [], FeatureModel.__call__
    monkeypatch.setattr(FeatureModel, '__call__', lambda self, images: seen.append(len(images)) or call(self, images))

    def run(*options, inputs=tmp_path / 'photos'):
        seen.clear()
        code = main(['features', str(inputs), *OPTIONS, '--out', str(out), '--pictures', *options])
        return code, len(seen), capsys.readouterr().err

    assert run()[:2] == (0, 2)
    before = (out / 'a.npz').read_bytes()
    code, made, said = run()
    assert (code, made) == (0, 0) and 'finished before' in said and said.rstrip().endswith(': 2')
    assert sorted(path.name for path in out.iterdir()) == [
        'a.npz', 'a_pca.png', 'b.npz', 'b_pca.png', 'journal.jsonl']
    (out / 'b.npz').unlink()
    assert run()[:2] == (0, 1), 'what is gone is made again'
    assert run('--seed', '1')[:2] == (0, 2), 'other weights'
    assert (out / 'a.npz').read_bytes() != before
    assert run()[:2] == (0, 2) and run('--overwrite')[:2] == (0, 2)
    _pictures(tmp_path / 'others', 'x.png', 'y.png', 'a.png')
    code, made, said = run(inputs=tmp_path / 'others' / 'a.png')
    assert (code, made) == (1, 0) and 'results of another picture of this name' in said
    assert (out / 'a.npz').read_bytes() == before
    assert run('--overwrite', inputs=tmp_path / 'others' / 'a.png')[:2] == (0, 1)
    assert (out / 'a.npz').read_bytes() != before


def test_values_that_are_no_numbers_are_not_written(tmp_path, monkeypatch, capsys):
    _pictures(tmp_path / 'photos', 'a.png')
    call = FeatureModel.__call__
    monkeypatch.setattr(FeatureModel, '__call__', lambda self, images: Tokens(
        *(values * float('nan') for values in vars(call(self, images)).values())))
    assert main(['features', str(tmp_path / 'photos'), *OPTIONS, '--out', str(tmp_path / 'out')]) == 1
    assert 'not finite' in capsys.readouterr().err and not (tmp_path / 'out' / 'a.npz').exists()
