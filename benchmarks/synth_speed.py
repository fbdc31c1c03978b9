"""Processor time of generated samples, and of the steps that take it.

    OMP_NUM_THREADS=1 python benchmarks/synth_speed.py --size 512 384 --num 40
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from sapiens2.synth import generate
from sapiens2.synth.generate import Recipe
from sapiens2.synth.render import renderer

# Step -> where the function is, and its name, whose calls it counts.
STEPS = {
    'people': (generate, 'make_people'),
    'surroundings': (generate, 'sample_surroundings'),
    'rays, surfaces, looks': (renderer, 'View'),
    'ground truth': (renderer, 'ground_truth'),
    'light': (renderer.Radiance, 'picture'),
    'photograph': (renderer, 'develop'),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--size', type=int, nargs=2, default=(512, 384), metavar=('H', 'W'))
    parser.add_argument('--num', type=int, default=40, help='samples')
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    recipe = Recipe(args.seed, tuple(args.size))
    recipe(10**6)  # tables and templates are read once
    spent: dict[str, float] = defaultdict(float)
    times = []
    patches = [mock.patch.object(module, name, _timed(getattr(module, name), step, spent))
               for step, (module, name) in STEPS.items()]
    for patch in patches:
        patch.start()
    for index in range(args.num):
        start = time.process_time()
        sample = recipe(index)
        made = time.process_time()
        sample.files()
        times.append(time.process_time() - start)
        spent['files'] += time.process_time() - made
    for patch in patches:
        patch.stop()
    spent['other'] = sum(times) - sum(spent.values())
    print(f'{args.num} samples of {args.size[0]}x{args.size[1]}: median {np.median(times):.2f} s, mean '
          f'{np.mean(times):.2f} s, 95 % below {np.percentile(times, 95):.2f} s of one core')
    for step, seconds in spent.items():
        print(f'{step:>24} {seconds / args.num:6.3f} s {100 * seconds / sum(times):5.1f} %')


def _timed(function: Callable[..., Any], step: str, spent: dict[str, float]) -> Callable[..., Any]:
    """The function; the processor time of its calls is added to a step."""

    def run(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = function(*args, **kwargs)
        spent[step] += time.process_time() - start
        return result

    return run


if __name__ == '__main__':
    main()
