"""What is reached without a matting network: python -m projects.matting.measure_baselines CONFIG --seg tiny."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import torch
from mmengine.evaluator import Evaluator
from mmengine.structures import BaseDataElement
from mmengine.utils import track_iter_progress
from torch import Tensor

from projects.matting.fields import read_alpha
from projects.matting.matting_metric import FIGURES
from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.apis.outputs import OutputOptions
from sapiens2.models.heads.resize import resize
from sapiens2.registry import DATASETS, register_all
from sapiens2.structures import DataSample
from sapiens2.utils.config import load_config

# Opacities (1, H, W) by name, of a sample that has its true one in ``eval_fields``.
Predictor = Callable[[DataSample], dict[str, Tensor]]
# (H, W) of the mean matte.
_GRID = (256, 192)


def mean_predictor(cfg: Mapping[str, Any]) -> Predictor:
    """The mean opacity and the mean matte, place by place, of the training set."""
    train = DATASETS.build({**cfg['train_dataloader']['dataset'], 'pipeline': []})
    total = torch.zeros(1, *_GRID, dtype=torch.float64)
    for index in track_iter_progress(range(len(train))):
        alpha = read_alpha(train.get_data_info(index)['field_paths']['alpha'])
        total += resize(torch.from_numpy(alpha)[None], _GRID)
    matte = (total / len(train)).float()

    def predict(sample: DataSample) -> dict[str, Tensor]:
        true = sample.eval_fields.alpha
        return {'mean opacity everywhere': matte.mean().expand_as(true),
                'mean matte, place by place': resize(matte, tuple(true.shape[1:]))}

    return predict


def seg_predictor(model: str, weights: Optional[Path]) -> Predictor:
    """What a network for seg says of people: one minus the probability of the background, and its yes or no."""
    network, options = Sapiens2Inferencer('seg', model, weights), OutputOptions(seg=('png', 'soft'))

    def predict(sample: DataSample) -> dict[str, Tensor]:
        result, = network(sample.img_path, outputs=options)
        if result['error']:
            raise ValueError(result['error'])
        return {f'seg {model}, probability of a person': 1 - torch.from_numpy(result['seg_probs'][:1]).float(),
                f'seg {model}, yes or no': torch.from_numpy(result['sem_seg'][None] > 0).float()}

    return predict


def measure(cfg: Mapping[str, Any], predictors: Sequence[Predictor]) -> dict[str, dict[str, float]]:
    """Figures of ``MattingMetric`` on the test data, of each prediction by its name."""
    held_out = DATASETS.build(cfg['test_dataloader']['dataset'])
    evaluators: dict[str, Evaluator] = {}
    for index in track_iter_progress(range(len(held_out))):
        sample = held_out[index]['data_samples']
        for predict in predictors:
            for name, alpha in predict(sample).items():
                sample.pred_fields = BaseDataElement(alpha=alpha)
                if name not in evaluators:
                    evaluators[name] = Evaluator(cfg['test_evaluator'])
                evaluators[name].process([sample])
    return {name: evaluator.evaluate(len(held_out)) for name, evaluator in evaluators.items()}


def main(words: Optional[Sequence[str]] = None) -> int:
    """Read the arguments, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description='Measure the mean matte, and a network for seg, as mattes.')
    parser.add_argument('config', type=Path)
    parser.add_argument('--data-root', help='in place of data_root of the config')
    parser.add_argument('--seg', metavar='MODEL', help="name of a model for seg, 'tiny' comes with the package, or its "
                        'config file')
    parser.add_argument('--seg-weights', type=Path)
    args = parser.parse_args(words)
    register_all()
    cfg = load_config(args.config, {'data_root': args.data_root} if args.data_root else {})
    predictors = [mean_predictor(cfg)]
    if args.seg:
        predictors.append(seg_predictor(args.seg, args.seg_weights))
    rows = measure(cfg, predictors)
    names = ' | '.join(f'`matting/{name}`' for name in FIGURES)
    print(f'\n| | {names} |\n|---|{"---:|" * len(FIGURES)}')
    for name, figures in rows.items():
        values = (figures[f'matting/{key}'] for key in FIGURES)
        print(f'| {name} | {" | ".join(f"{value:.4g}" for value in values)} |')
    return 0


if __name__ == '__main__':
    sys.exit(main())
