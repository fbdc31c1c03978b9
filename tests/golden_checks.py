"""One check for each kind of golden case, chosen by the first word of its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from golden_cases import arrays, close, fill, normal
from torch import Tensor

from sapiens2.evaluation import functional
from sapiens2.models.heads.seg_head import argmax_resized
from sapiens2.registry import CODECS, MODELS, TRANSFORMS
from sapiens2.utils.topdown import udp_matrix

BACKBONE_KEYS = ('arch', 'img_size', 'out_type', 'out_indices', 'rope_dtype', 'use_tokenizer', 'window_size')
# Short names of the gradients in backbone_grads.npz.
GRADIENTS = {'cls_token': 'cls_token', 'patch_bias': 'patch_embed.projection.bias',
             'q_norm': 'blocks.9.attn.q_norm.weight', 'wk': 'blocks.9.attn.wk.weight'}

# Key of the golden figures -> (ours, factor that gives ours).
NORMAL_FIGURES = {
    'normal_mae': ('mean_deg', 1), 'normal_median_deg': ('median_deg', 1), 'normal_rmse': ('rmse_deg', 1),
    **{f'within_{deg}_deg': (f'within_{deg.removesuffix("_0")}_deg_percent', 1)
       for deg in ('5_0', '11_25', '22_5', '30_0')}}
POINTMAP_FIGURES = {
    'l2_mean': ('l2_m', 1), 'x_mae': ('x_mae_m', 1), 'y_mae': ('y_mae_m', 1), 'z_mae': ('z_mae_m', 1),
    'rmse': ('rmse_m', 1), 'normal_mae': ('normal_mean_deg', 1), 'normal_rmse': ('normal_rmse_deg', 1),
    **{f'within_{cm}_cm': (f'within_{cm.lstrip("0")}_cm_percent', 100) for cm in ('05', '10', '20')},
    **{key: (f'normal_{ours}', 100) for key, (ours, _) in NORMAL_FIGURES.items() if 'within' in key}}
ALBEDO_FIGURES = {key: (key, 1) for key in ('mae', 'rmse', 'ssim', 'grad_l1')} | {'psnr': ('psnr_db', 1)}
SEG_FIGURES = {key: (f'{key}_percent', 1) for key in (
    'aAcc', 'mIoU', 'mAcc', 'mDice', 'mFscore', 'mPrecision', 'mRecall')}


def check(name: str, case: dict[str, Any]) -> None:
    """Rebuild the case ``name`` and compare; raises AssertionError where it differs."""
    CHECKS[name.split('_')[0]](name, case)


def check_backbone(name: str, case: dict[str, Any]) -> None:
    expected = arrays(name)
    model = fill(MODELS.build(dict(type='Sapiens2', **{k: case[k] for k in BACKBONE_KEYS if k in case})), case['seed'])
    outputs = model(normal(case.get('input_seed', case['seed']), case['input']))
    if 'objective' in case:
        outputs[0].square().mean().backward()
        parameters = dict(model.named_parameters())
        for key, value in expected.items():
            close(parameters[GRADIENTS[key]].grad, value, rtol=1e-4, atol=1e-6)
        return
    assert len(outputs) == len(expected)
    tolerance = 2e-2 if case['rope_dtype'] == 'bf16' else 1e-4
    for index, output in enumerate(outputs):
        close(output, expected[f'out{index}'], rtol=tolerance, atol=tolerance)


def check_head(name: str, case: dict[str, Any]) -> None:
    expected = arrays(name)
    head = fill(MODELS.build(dict(case['cfg'])), case['seed'])
    with torch.no_grad():
        output = head((normal(case['input_seed'], case['input']),))
    if 'scale' in expected:
        output, scale = output
        close(scale, expected['scale'])
    close(output, expected['out0'])


def check_codec(name: str, case: dict[str, Any]) -> None:
    data = arrays(name)
    keys = ('input_size', 'heatmap_size', 'sigma', 'blur_kernel_size')
    codec = CODECS.build(dict(type='UDPHeatmap', **{k: case[k] for k in keys if k in case}))
    if 'visible' in data:
        encoded = codec.encode(data['keypoints'], data['visible'])
        close(encoded['heatmaps'], data['heatmaps'])
        close(encoded['keypoint_weights'], data['weights'][0])
    else:
        keypoints, scores = codec.decode(torch.from_numpy(data['heatmaps'])[None])
        close(keypoints, data['keypoints'], rtol=0, atol=1e-3)
        close(scores, data['scores'])


def check_prep(name: str, case: dict[str, Any]) -> None:
    data = arrays(name)
    results = TRANSFORMS.build(dict(type='LoadImage'))(dict(img=data['image'].copy()))
    if 'bbox' in case:
        size = tuple(case['input_size_wh'])
        results['bboxes'] = np.array([case['bbox']], dtype=np.float32)
        steps = [dict(type='GetBBoxCenterScale', padding=case['padding'], aspect=size[0] / size[1]),
                 dict(type='TopdownAffine', input_size=size)]
    else:
        steps = [dict(type='Resize', size=(case['height'], case['width']), keep_ratio=case.get('keep_ratio', True))]
    for step in steps:
        results = TRANSFORMS.build(step)(results)
    if 'bbox' in case:
        close(results['bbox_center'], data['center'])
        close(results['bbox_scale'], data['scale'])
        close(udp_matrix(results['bbox_center'][0], results['bbox_scale'][0], size), data['matrix'], atol=1e-5)
    else:
        assert results['padding'] == tuple(data['padding'])
    difference = np.abs(results['img'].astype(int) - data['out'].astype(int)).max(axis=-1)
    assert difference.max() <= 1 and (difference > 0).mean() <= 1e-3


def dense_inputs(case: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Prediction, target and mask of a dense loss."""
    batch, _, height, width = case['shape']
    mask = np.random.default_rng(case['seed'] + 9).random((batch, 1, height, width)) > 0.3
    return normal(case['pred_seed'], case['shape']), normal(case['target_seed'], case['shape']), torch.from_numpy(mask)


def loss_inputs(name: str, case: dict[str, Any]) -> dict[str, Tensor]:
    """Everything a loss may ask for, by the name of the argument."""
    batch, channels, height, width = case['shape']
    if 'seg' in name:
        rng = np.random.default_rng(case['seed'] + 13)
        labels = torch.from_numpy(rng.integers(0, channels, (batch, height, width)))
        labels[0, :2] = 255
        return dict(pred=normal(case['logits_seed'], case['shape']), target=labels)
    if 'pose' in name:
        weights = np.random.default_rng(case.get('seed', 7) + 17).random((batch, channels)) > 0.4
        return dict(pred=normal(case['seeds'][0], case['shape']), target=normal(case['seeds'][1], case['shape']),
                    weights=torch.from_numpy(weights).float())
    pred, target, mask = dense_inputs(case)
    if 'chroma' in name:
        pred, target = 0.5 * pred.abs(), target.abs().clamp(0, 1)
    if 'silog' in name:
        pred, target = pred[:, 2:].abs() + 0.1, target[:, 2:].abs() + 0.1
    return dict(pred=pred, target=target, mask=mask, K=torch.tensor(case.get('K', [])))


def check_loss(name: str, case: dict[str, Any]) -> None:
    kind = case['kind'].split()[0]
    options = {k: case[k] for k in ('loss_weight', 'scale_factor', 'reduction', 'class_weight', 'include_background',
                                    'topk') if case.get(k) is not None}
    # Two released losses are one of ours: both compute squared errors of differences.
    options['type'] = 'GradientMSELoss' if kind in ('NormalGradL1Loss', 'AlbedoGradL1Loss') else kind
    if kind == 'AlbedoGradL1Loss':
        options['average_directions'] = True
    loss, inputs, expected = MODELS.build(options), loss_inputs(name, case), arrays(name)
    inputs['pred'].requires_grad_()
    value = loss(**{key: inputs[key] for key in loss.inputs if key != 'names'})
    value.sum().backward()
    close(value, expected['value'], rtol=1e-5, atol=1e-6)
    close(inputs['pred'].grad, expected['grad'], rtol=1e-4, atol=1e-7)


def check_metrics(name: str, case: dict[str, Any]) -> None:
    data = {key: torch.from_numpy(value) for key, value in arrays(name).items()}
    sums: dict[str, list[functional.Sums]] = {task: [] for task in case['expected']}
    for batch in range(2):
        pred, gt, mask = (data[f'{field}{batch}'] for field in ('pred', 'gt', 'mask'))
        mask = mask.bool()
        sums['normal'].append(functional.normal_sums(pred, gt, mask))
        sums['pointmap'].append(functional.pointmap_sums(0.05 * pred, 0.05 * gt, mask))
        sums['albedo'].append(functional.albedo_sums(pred.abs().clamp(0, 1), gt.abs().clamp(0, 1), mask))
        for logits, labels in zip(data[f'seg_logits{batch}'], data[f'seg_labels{batch}'][:, 0]):
            predicted = argmax_resized(logits, tuple(labels.shape))
            sums['seg'].append(functional.seg_sums(predicted, labels.long(), len(logits)))
    totals = {task: functional.add(parts) for task, parts in sums.items()}
    # The released program rounds these figures to two decimals.
    seg = {name: round(value, 2) for name, value in functional.seg_scores(totals['seg'], nan_to_num=0).items()}
    figures = [
        (functional.normal_scores(totals['normal']), NORMAL_FIGURES, 'normal'),
        (functional.pointmap_scores(totals['pointmap'], missing_deg=90), POINTMAP_FIGURES, 'pointmap'),
        (functional.albedo_scores(totals['albedo']), ALBEDO_FIGURES, 'albedo'),
        (seg, SEG_FIGURES, 'seg')]
    wrong = {}
    for scores, names, task in figures:
        for key, expected in case['expected'][task].items():
            ours, factor = names[key]
            if abs(scores[ours] - factor * expected) > 1e-4 * max(1, abs(factor * expected)):
                wrong[f'{task} {key}'] = (scores[ours], factor * expected)
    assert not wrong, f'(ours, expected): {wrong}'


CHECKS = {'backbone': check_backbone, 'head': check_head, 'codec': check_codec, 'prep': check_prep, 'loss': check_loss,
          'metrics': check_metrics}
