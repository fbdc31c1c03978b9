"""A row may be any registered network, a checkpoint of another program, or predictions that another program made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mmengine.dataset import Compose
from torch.nn import functional

from sapiens2.cli.main import main
from sapiens2.evaluation.benchmark import Row
from sapiens2.evaluation.benchmark.measure import measure, share_done
from sapiens2.models.checkpoints.build import build_model
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.config import ConfigError, load_config
from sapiens2.utils.task_models import inference_pipeline

MAIN = 'seg/aAcc_percent'


def write_config(folder: Path, row: Row, size: tuple[int, int] = (256, 192), head: dict[str, Any] | None = None,
                 **backbone: Any) -> str:
    """A config as that of ``row`` with another backbone."""
    path = folder / 'other.py'
    path.write_text(f"""
_base_ = [{row.config!r}]
model = dict(backbone=dict(_delete_=True, img_size={size}, **{backbone!r}), decode_head=dict(**{head or {}!r}))
test_dataloader = dict(dataset=dict(pipeline_options=dict(Resize=dict(size={size}))))
""", encoding='utf-8')
    return str(path)


def test_a_checkpoint_has_the_figures_of_the_command(tmp_path: Path, make_row, capsys: pytest.CaptureFixture) -> None:
    row = make_row()
    weights = tmp_path / 'weights.pth'
    torch.manual_seed(1)
    torch.save(build_model(load_config(row.config, row.cfg_options), 'random', 'cpu').state_dict(), weights)
    row = make_row(checkpoint=str(weights))
    found = measure(row, tmp_path / 'work')
    assert found['images'] == 4 and found['parameters'] > 1e4 and found['multiply_adds'] > 1e6
    assert 'measured 1/1' in capsys.readouterr().out and found['images_per_second'] is None  # of a single batch
    options = [f'{name}={value}' for name, value in make_row().cfg_options.items()]
    assert main(['test', row.config, str(weights), '--json', '--work-dir', str(tmp_path / 'work'), '--cfg-options',
                 *options]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures.keys() == found['figures'].keys()
    np.testing.assert_array_equal(list(figures.values()), list(found['figures'].values()))


def test_random_weights_are_those_of_their_seed(tmp_path: Path, make_row) -> None:
    figures = [measure(make_row(seed=seed), tmp_path / 'work')['figures'][MAIN] for seed in (1, 1, 2)]
    assert figures[0] == figures[1] != figures[2]


def test_speed_is_that_of_all_batches_but_the_first(tmp_path: Path, make_row) -> None:
    options = make_row().cfg_options
    found = measure(make_row(cfg_options={**options, 'test_dataloader.batch_size': 1}), tmp_path / 'work')
    assert found['images_per_second'] > 0


def test_the_first_sapiens(tmp_path: Path, make_row) -> None:
    row = make_row(cfg_options={'test_dataloader.num_workers': 0})
    config = write_config(tmp_path, row, type='Sapiens', arch='sapiens_nano')
    found = measure(make_row(config=config, cfg_options={'test_dataloader.num_workers': 0}), tmp_path / 'work')
    assert 0 <= found['figures'][MAIN] <= 100 and found['multiply_adds'] > 1e6


@pytest.mark.parametrize('name, size', [
    ('vit_small_patch14_dinov2', (56, 42)), ('vit_small_patch16_dinov3', (64, 48)),
    ('vit_pe_spatial_tiny_patch16_512', (64, 48))])
def test_backbones_of_timm(name: str, size: tuple[int, int], tmp_path: Path, make_row) -> None:
    pytest.importorskip('timm', exc_type=ImportError)
    row = make_row(cfg_options={'test_dataloader.num_workers': 0})
    config = write_config(tmp_path, row, size, type='TimmBackbone', model_name=name)
    found = measure(make_row(config=config, cfg_options={'test_dataloader.num_workers': 0}), tmp_path / 'work')
    assert 0 <= found['figures'][MAIN] <= 100 and found['multiply_adds'] > 1e6


def test_transformers_as_a_checkpoint_and_as_predictions(tmp_path: Path, make_row) -> None:
    """A row of its saved weights, and one of the labels that it computed itself, agree."""
    transformers = pytest.importorskip('transformers', minversion='5.24')
    blocks = dict(conv_kernel_sizes=[1], conv_out_channels=[16])
    torch.manual_seed(0)
    network = transformers.Sapiens2ForSemanticSegmentation(transformers.Sapiens2Config(
        hidden_size=64, intermediate_size=128, num_hidden_layers=17, num_attention_heads=4,
        num_key_value_attention_heads=2, image_size=[64, 48], num_labels=29,
        head_config=dict(**blocks, upsample_out_channels=[16, 16], upsample_kernel_sizes=[4, 4]))).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    network.save_pretrained(tmp_path / 'saved')

    options = {'test_dataloader.num_workers': 0}
    head = dict(**blocks, deconv_out_channels=[16, 16], deconv_kernel_sizes=[4, 4])
    arch = dict(embed_dims=64, num_layers=17, num_heads=4, feedforward_channels=128, num_tokenizer_layers=1)
    config = write_config(tmp_path, make_row(), (64, 48), head, type='Sapiens2', arch=arch, rope_dtype='fp32')
    ours = measure(make_row(config=config, checkpoint=str(tmp_path / 'saved'), cfg_options=options), tmp_path / 'work')

    cfg = load_config(config)
    pipeline = Compose([TRANSFORMS.build(step) for step in inference_pipeline(cfg)])
    preprocessor = build_model(cfg, 'random', 'cpu').data_preprocessor
    (tmp_path / 'predicted').mkdir()
    for image in sorted((tmp_path / 'data/val/images').iterdir()):
        sample = pipeline({'img_path': str(image)})
        with torch.no_grad():
            batch = {name: [value] for name, value in sample.items()}
            logits = network(preprocessor(batch, False)['inputs']).logits
        labels = functional.interpolate(logits, sample['data_samples'].ori_shape[:2], mode='bilinear').argmax(1)[0]
        np.save(tmp_path / 'predicted' / f'{image.stem}.npy', labels.numpy().astype(np.uint8))
    theirs = measure(make_row(config=config, predictions=str(tmp_path / 'predicted'), parameters=7,
                              cfg_options=options), tmp_path / 'work')
    assert theirs['images'] == 4 and theirs['parameters'] == 7 and theirs['images_per_second'] is None
    assert len(np.unique(labels)) > 2
    assert theirs['figures'][MAIN] == pytest.approx(ours['figures'][MAIN], abs=0.02)
    assert theirs['figures']['seg/mIoU_percent'] == pytest.approx(ours['figures']['seg/mIoU_percent'], abs=0.02)


def test_a_lack_of_weights_is_named(tmp_path: Path, make_row) -> None:
    with pytest.raises(ConfigError, match="'nowhere.pth' does not exist"):
        measure(make_row(checkpoint='nowhere.pth'), tmp_path / 'work')


def test_how_far_a_row_is(tmp_path: Path) -> None:
    log = tmp_path / 'log'
    assert share_done(log) == 0
    log.write_text('Log: x\nmeasured 1/8\nmeasured 6/8\nother 7/8\n', encoding='utf-8')
    assert share_done(log) == 75
