"""``sapiens2 features``: files of tokens."""

from __future__ import annotations

import cv2
import numpy as np
import torch
from safetensors.numpy import load_file

from sapiens2.cli.main import main
from sapiens2.evaluation.probes import build_backbone, parse_backbone

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


def test_nothing_to_start_with(tmp_path, capsys):
    assert main(['features', str(tmp_path), '--out', str(tmp_path / 'out')]) == 2
    assert 'name a checkpoint' in capsys.readouterr().err
    assert main(['features', str(tmp_path / 'none'), *OPTIONS, '--out', str(tmp_path / 'out')]) == 2
    assert 'no such file or folder' in capsys.readouterr().err
