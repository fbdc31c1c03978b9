"""Memory that training needs, by what it is for: weights, gradients, optimizer, activations kept for the backward pass.

Nothing is computed: the model runs on tensors without content, and the bytes of what autograd keeps are summed; those
of the optimizer follow from its definition. Losses, the data, what kernels need for moments and the CUDA context are
left out.

    python benchmarks/training_memory.py CONFIG [--arch sapiens2_0.4b] [--fp32]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from sapiens2.engine.fine_tuning import FrozenBackbone, LoRA
from sapiens2.registry import MODELS
from sapiens2.utils.config import load_config

GB = 1e9
ADAMW, FACTORED, BYTES = 'AdamW', 'TorchAdafactor', 'AdamW8bit'
# Name, fine-tuning, activation checkpointing, optimizer.
STRATEGIES = (
    ('everything', None, False, ADAMW),
    ('+ activation checkpointing', None, True, ADAMW),
    ('+ 8-bit AdamW', None, True, BYTES),
    ('+ Adafactor instead', None, True, FACTORED),
    ('LoRA, rank 16', LoRA, False, ADAMW),
    ('+ activation checkpointing', LoRA, True, ADAMW),
    ('frozen backbone', FrozenBackbone, False, ADAMW),
)


def optimizer_bytes(parameters: list[nn.Parameter], optimizer: str) -> int:
    """State of the optimizer, by its definition."""
    if optimizer == ADAMW:
        return sum(2 * p.numel() * 4 for p in parameters)
    if optimizer == BYTES:  # two averages, a scale for each block of 256; small tensors keep 32 bits
        return sum(int(2 * p.numel() * (1 + 4 / 256)) if p.numel() >= 4096 else 8 * p.numel() for p in parameters)
    return sum(4 * (p.numel() if p.ndim < 2 else p.numel() // p.shape[-1] + p.numel() // p.shape[-2])
               for p in parameters)


def activation_bytes(parameters: Sequence[nn.Parameter], run: Callable[[], object]) -> int:
    """Bytes that autograd keeps of ``run``, which is given tensors without content; parameters do not count."""
    mode, kept, alive = FakeTensorMode(allow_non_fake_inputs=True), {}, []

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage.nbytes()
        alive.append(tensor)  # a storage that is gone would lend its address to another
        return tensor

    with mode, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        own = {mode.from_tensor(p).untyped_storage()._cdata for p in parameters}
        run()
    # Weights cast to bf16 live as long as the activations, so they count among them.
    return sum(size for storage, size in kept.items() if storage not in own)


def measure(cfg: Any, fine_tuning: Any, with_cp: bool, optimizer: str, bf16: bool) -> dict[str, float]:
    """GB by what they are for."""
    cfg.model.backbone.with_cp = with_cp
    model = MODELS.build(cfg.model)
    if fine_tuning is not None:
        fine_tuning().prepare(model)
    model.train()
    parameters = list(model.parameters())
    trained = [p for p in parameters if p.requires_grad]

    def run() -> None:
        with torch.autocast('cpu', torch.bfloat16, enabled=bf16):
            model(torch.zeros(1, 3, *model.backbone.img_size))

    activations = activation_bytes(parameters, run)
    weights, gradients = (sum(p.numel() for p in group) * 4 for group in (parameters, trained))
    return {'weights': weights / GB, 'gradients': gradients / GB, 'optimizer': optimizer_bytes(trained, optimizer) / GB,
            'activations': activations / GB}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('config')
    parser.add_argument('--arch')
    parser.add_argument('--fp32', action='store_true', help='without bfloat16 autocast')
    args = parser.parse_args()
    cfg = load_config(args.config)
    if args.arch:
        cfg.model.backbone.arch = args.arch
    print('| what is trained | weights | gradients | optimizer | activations | sum |\n|---|---|---|---|---|---|')
    for name, fine_tuning, with_cp, optimizer in STRATEGIES:
        parts = measure(cfg, fine_tuning, with_cp, optimizer, not args.fp32)
        figures = [*parts.values(), sum(parts.values())]
        print('| ' + ' | '.join([name, *(f'{figure:.2f}' for figure in figures)]) + ' |')


if __name__ == '__main__':
    main()
