"""Time of a whole step of pretraining against its unavoidable forward and backward passes, and memory it needs.

    python benchmarks/pretrain_step.py CONFIG [--size H W] [--local H W] [--batch 2]
    python benchmarks/pretrain_step.py CONFIG --memory

A step is what ``UpdateTrainLoop`` does with a batch that is there: normalisation, losses, backward pass, clipping,
optimizer, teacher. The passes are those of the student (masked global crops, local crops), the teacher (whole global
crops), the decoder and the heads, each alone on tensors of the right size. Both are measured in turns in one process,
in processor time. Memory is that of tensors kept for the backward pass; nothing is computed for it.
Results are in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from mmengine.config import Config
from mmengine.logging import MMLogger
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from sapiens2.registry import DATASETS, MODELS, OPTIM_WRAPPER_CONSTRUCTORS, register_all
from sapiens2.structures import DataSample
from sapiens2.utils.config import load_config

GB = 1e9
RATIO = 0.75  # of tokens that are hidden


def make_batch(side: int, size: tuple[int, int], local: tuple[int, int], count: int, samples: int) -> Config:
    """Random pixels of two global crops of ``size`` (H, W) and ``count`` local ones a sample; tokens of ``side``."""
    tokens = size[0] // side * (size[1] // side)
    places = [torch.randperm(tokens)[round(tokens * RATIO):].sort().values for _ in range(2 * samples)]
    return dict(inputs=dict(
        global_crops=torch.randint(0, 256, (samples, 2, 3, *size), dtype=torch.uint8),
        local_crops=torch.randint(0, 256, (samples, count, 3, *local), dtype=torch.uint8),
        visible=torch.stack(places).unflatten(0, (samples, 2))),
        data_samples=[DataSample() for _ in range(samples)])


def passes(model: nn.Module, batch: dict[str, Any]) -> dict[str, Callable[[], None]]:
    """The unavoidable passes by name, each with what it is given at hand."""
    inputs, samples = model.data_preprocessor(batch, True)['inputs'], len(batch['data_samples'])
    crops, visible, local = inputs['global_crops'], inputs['visible'], inputs['local_crops']
    hidden, grid = model.mae.hidden(crops, visible), model.mae.grid(crops)
    with torch.no_grad():
        tokens = model.backbone(crops, visible)[0].float()
        taught = model.teacher_backbone(crops)[0][:, 0].float()
    head, views = model.contrastive.student_head, len(local) // samples + 2
    class_tokens = tokens[:samples, 0].repeat(views, 1)

    def both_ways(run: Callable[[], Tensor]) -> None:
        out = run()
        torch.autograd.backward(out, torch.ones_like(out))

    def teach() -> None:
        with torch.no_grad():
            model.teacher_backbone(crops)

    def head_of_teacher() -> None:
        with torch.no_grad():
            model.contrastive.teacher_head(taught)

    def leaf(value: Tensor) -> Tensor:
        return value.detach().requires_grad_()

    return {
        'student, masked global crops': lambda: both_ways(lambda: model.backbone(crops, visible)[0]),
        'student, local crops': lambda: both_ways(lambda: model.backbone(local)[0]),
        'teacher, global crops': teach,
        'decoder': lambda: both_ways(lambda: model.mae.decode(leaf(tokens), grid, visible, hidden)),
        'head of the student': lambda: both_ways(lambda: head(leaf(class_tokens))),
        'head of the teacher': head_of_teacher,
    }


def seconds(call: Callable[[], None], bf16: bool) -> float:
    start = time.process_time()
    with torch.autocast('cpu', torch.bfloat16, enabled=bf16):
        call()
    return time.process_time() - start


def time_step(model: nn.Module, cfg: Config, batch: dict[str, Any], rounds: int, bf16: bool) -> None:
    """Print times and ratio."""
    wrapper = OPTIM_WRAPPER_CONSTRUCTORS.build(dict(
        type=cfg.optim_wrapper.constructor, paramwise_cfg=cfg.optim_wrapper.paramwise_cfg, optim_wrapper_cfg=dict(
            **(dict(type='BFloat16OptimWrapper', emulate=True) if bf16 else dict(type='OptimWrapper')),
            optimizer=cfg.optim_wrapper.optimizer, clip_grad=cfg.optim_wrapper.clip_grad)))(model)
    wrapper.initialize_count_status(model, 0, 10**6)

    def step() -> None:
        model.train_step(batch, wrapper)
        model.update_teacher()

    parts = passes(model, batch)
    seconds(step, False)
    times: dict[str, list[float]] = {name: [] for name in ('step', *parts)}
    for _ in range(rounds):
        times['step'].append(seconds(step, False))  # the wrapper casts
        for name, part in parts.items():
            times[name].append(seconds(part, bf16))
            model.zero_grad()
    ratios = [step / sum(others) for step, *others in zip(*times.values())]
    for name, values in times.items():
        print(f'| {name} | {statistics.median(values):.3f} s |')
    print(f'step / passes: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}')


def activation_bytes(model: nn.Module, batch: dict[str, Any], bf16: bool, mode: FakeTensorMode) -> int:
    """Bytes that autograd keeps of the forward pass of a model without content; its parameters do not count."""
    kept, alive = {}, []

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage.nbytes()
        alive.append(tensor)  # a storage that is gone would lend its address to another
        return tensor

    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    with mode, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), \
            torch.autocast('cpu', torch.bfloat16, enabled=bf16):
        model(**model.data_preprocessor(batch, True), mode='loss')
    # Weights cast to bf16 live as long as the activations, so they count among them.
    return sum(size for storage, size in kept.items() if storage not in own)


def print_memory(cfg: Config, batch: dict[str, Any], bf16: bool) -> None:
    """Print the memory of activations without and with recomputing; the model has no content, so any size fits."""
    for with_cp in (False, True):
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with torch.device('meta'):
            model = build(cfg, with_cp)
        with mode:
            model.to_empty(device='cpu')
        print(f'| {"recomputed" if with_cp else "kept"} | {activation_bytes(model, batch, bf16, mode) / GB:.2f} GB |')


def build(cfg: Config, with_cp: bool) -> nn.Module:
    """The model of a config, in training."""
    cfg.model.backbone.with_cp = cfg.model.mae.with_cp = with_cp
    model = MODELS.build(cfg.model).train()
    model.set_progress(1, 2)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('config')
    parser.add_argument('--size', nargs=2, type=int, metavar=('H', 'W'), help='of global crops (default: the config)')
    parser.add_argument('--local', nargs=2, type=int, metavar=('H', 'W'), help='of local crops (default: the config)')
    parser.add_argument('--batch', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--fp32', action='store_true', help='without bfloat16 autocast')
    parser.add_argument('--memory', action='store_true', help='memory instead of time')
    args = parser.parse_args()
    register_all()
    MMLogger.get_current_instance().setLevel('WARNING')
    cfg = load_config(args.config)
    torch.manual_seed(0)
    steps = DATASETS.build(dict(cfg.train_dataloader.dataset, lazy_init=True)).pipeline.transforms
    crops = next(step.kinds for step in steps if type(step).__name__ == 'MultiCrop')
    size, local = args.size or crops['global_crops'].size, args.local or crops['local_crops'].size
    count = crops['local_crops'].number
    with torch.device('meta'):
        side = build(cfg, False).backbone.size_multiple
    batch = make_batch(side, size, local, count, args.batch)
    print(f'{cfg.model.backbone.arch}, {args.batch} samples: 2 crops of {size[0]}x{size[1]}, {count} of '
          f'{local[0]}x{local[1]}, {"fp32" if args.fp32 else "bf16"}, {torch.get_num_threads()} threads')
    if args.memory:
        print_memory(cfg, batch, not args.fp32)
    else:
        model = build(cfg, False)
        model.init_weights()
        model.start_teacher()
        time_step(model, cfg, batch, args.rounds, not args.fp32)


if __name__ == '__main__':
    main()
