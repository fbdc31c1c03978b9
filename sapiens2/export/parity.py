"""How far an exported file is from the network that it was made of, and how much faster or slower."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Largest mean difference that passes, as a share of the mean size of the output's values: rounding, with room to spare.
TOLERANCE = {'fp32': 1e-3, 'bf16': 5e-2, 'fp16': 5e-2}
Network = Callable[[Tensor], Sequence[Tensor]]


@dataclass(frozen=True)
class OutputDifference:
    """Of one output, over all images.

    Attributes:
        name: of the output.
        shape: for one image.
        largest, mean: absolute difference, in the output's own unit.
        mean_size: mean absolute value of the output of the original network.
        share: ``mean / mean_size``.
    """

    name: str
    shape: tuple[int, ...]
    largest: float
    mean: float
    mean_size: float
    share: float


def compare(names: Sequence[str], original: Sequence[Tensor], exported: Sequence[Tensor]) -> list[OutputDifference]:
    """Differences of outputs, each (B, ...).

    Raises:
        ValueError: if the outputs differ in number or shape.
    """
    shapes = [[tuple(output.shape) for output in outputs] for outputs in (original, exported)]
    if shapes[0] != shapes[1]:
        raise ValueError(f'the exported network gives outputs {shapes[1]}, the original {shapes[0]}')
    differences = []
    for name, first, second in zip(names, original, exported):
        difference, size = (first.double() - second.double()).abs(), first.double().abs().mean().item()
        mean = difference.mean().item()
        differences.append(OutputDifference(name, tuple(first.shape[1:]), difference.max().item(), mean, size,
                                            mean / max(size, torch.finfo(torch.float32).tiny)))
    return differences


def check(names: Sequence[str], original: Network, exported: Network, images: Sequence[Tensor], tolerance: float,
          repeats: int = 3) -> dict[str, Any]:
    """Compare two networks on batches of images, and time them on the first.

    Args:
        names: of the outputs.
        original, exported: networks that give a sequence of outputs.
        images: batches (B, 3, H, W), of several sizes B where the file takes them.
        tolerance: largest ``share`` that passes.
        repeats: how often each is timed, in turn, after one run that is not; the median counts.

    Returns:
        A report of JSON's types. A value that is not a finite number never passes.
    """
    with torch.inference_mode():
        pairs = [(original(batch), exported(batch)) for batch in images]
        first, second = ([torch.cat(outputs) for outputs in zip(*side)] for side in zip(*pairs))
        differences = compare(names, first, second)
        seconds: dict[str, list[float]] = {'original': [], 'exported': []}
        for _ in range(repeats):
            for name, network in (('original', original), ('exported', exported)):
                start = time.perf_counter()
                network(images[0])
                seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        'outputs': [{'name': output.name, 'shape': list(output.shape), 'largest_difference': output.largest,
                     'mean_difference': output.mean, 'mean_size': output.mean_size, 'share': output.share}
                    for output in differences],
        'tolerance': tolerance, 'passed': all(output.share <= tolerance for output in differences),
        'batches': [len(batch) for batch in images], 'threads': torch.get_num_threads(),
        'seconds_original': medians['original'], 'seconds_exported': medians['exported'],
        'times_as_fast': medians['original'] / medians['exported'],
    }
