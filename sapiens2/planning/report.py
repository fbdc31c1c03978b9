"""A plan as text and as plain values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Optional

from sapiens2.planning.gpus import GIB
from sapiens2.planning.memory import CONTEXT, FRAGMENTS, NCCL, Memory
from sapiens2.planning.operations import LAUNCH
from sapiens2.planning.plan import Plan
from sapiens2.planning.speed import Rates

NAMES = {
    'weights': 'weights', 'averages': 'teacher, averages', 'optimizer': 'optimizer', 'gradients': 'gradients',
    'activations': 'activations kept', 'temporary': 'temporary', 'communication': 'gathered, in buckets',
    'framework': 'framework'}
RECOMPUTED = {None: 'activations as the config says', 0: 'no activations recomputed', 1: 'activations recomputed',
              2: 'activations of every second block recomputed'}


def plain(plan: Plan, images: Optional[float] = None) -> dict[str, Any]:
    """A plan for JSON: memory in bytes, time in seconds."""
    memory, speed, run = plan.memory, plan.speed, plan.run
    return dict(
        gpu=asdict(plan.gpu), settings=asdict(run.settings), spread=asdict(run.spread), accumulate=run.accumulate,
        parameters=plan.parameters, capacity=plan.capacity, fits=plan.fits, largest_batch=plan.largest,
        memory=dict(**{part: getattr(memory, part) for part in Memory.PARTS}, total=memory.total, host=memory.host,
                    moment=memory.moment.name.lower(), largest_temporary=list(memory.largest), temporary_pieces=memory.pieces),
        speed=dict(asdict(speed), seconds=speed.seconds, bound=speed.bound, images_per_second=speed.rate,
                   utilisation=speed.utilisation, days=None if images is None else speed.days(images)),
        remedies=[asdict(remedy) for remedy in plan.remedies])


def text(plan: Plan, title: str, gpu: str, rates: Rates, images: Optional[float] = None) -> str:
    """A plan for people."""
    memory, speed, run = plan.memory, plan.speed, plan.run
    spread, settings = run.spread, run.settings
    lines = [
        f'{title}: {plan.parameters:,} parameters',
        f'{spread.num} x {gpu} ({plan.gpu.source}), {spread.nodes} node(s), {spread.strategy}'
        + (f', each copy over {spread.shards}' if spread.is_sharded else '') + (', on the host' if spread.offload else ''),
        f'{settings.batch} images a GPU and pass, {run.accumulate} pass(es) an update, {"bf16" if settings.half else "fp32"}, '
        + RECOMPUTED.get(settings.recompute, f'activations of every {settings.recompute}th block recomputed'),
        '', f'{"memory of a GPU, at worst (" + memory.moment.name.lower() + ")":<40} {"GiB":>8}']
    lines += [f'  {NAMES[part]:<38} {getattr(memory, part) / GIB:>8.2f}' for part in Memory.PARTS]
    lines.append(f'  {"sum, of " + format(plan.capacity / GIB, ".1f"):<38} {memory.total / GIB:>8.2f}'
                 + ('' if plan.fits else '   does not fit'))
    if memory.largest[1]:
        lines.append(f'  largest of {memory.pieces:,} temporary pieces: {memory.largest[0]}, {memory.largest[1] / GIB:.2f}')
    if memory.host:
        lines.append(f'  in the memory of each host: {memory.host / GIB:.0f}')
    lines.append(f'  largest batch of a GPU that fits: {plan.largest or "none"}')
    lines += ['', f'{"time of an update":<40} {"s":>8}']
    lines += [f'  {name:<38} {value:>8.3f}' for name, value in (
        ('forward pass', speed.forward), ('backward pass, with recomputing', speed.backward),
        ('optimizer, teacher', speed.update), ('collectives, beside these', speed.collectives),
        ('data loader, beside these', speed.loading))]
    lines.append(f'  {"slowest: " + speed.bound:<38} {speed.seconds:>8.3f}')
    lines += ['', f'{speed.samples} images an update, {speed.rate:,.1f} images/s, {speed.flops / 1e12:,.1f} TFLOP a GPU and update '
              f'(+ {speed.repeated / 1e12:,.1f} done twice), model FLOPs utilisation {speed.utilisation:.1%}']
    if images is not None:
        lines.append(f'{images:,.0f} images: {images / speed.samples:,.0f} updates, {speed.days(images):,.1f} days, '
                     f'{speed.days(images) * 24 * spread.num:,.0f} GPU hours')
    lines += _remedies(plan)
    rate = 'measured' if rates.measured else 'counted'
    lines += ['', f'Stated, not measured: matrix products at {rates.products:.0%} of the peak, memory at {rates.memory:.0%} and links at '
              f'{rates.links:.0%} of their bandwidth, {LAUNCH * 1e6:.0f} us at least for an operation; {rates.load:g} samples/s from '
              f'each worker of a loader; {CONTEXT / GIB:.1f} GiB for CUDA, {NCCL / GIB:.1f} for NCCL, {FRAGMENTS:.0%} lost to pieces. '
              f'The time of the computation is {rate}.']
    return '\n'.join(lines)


def _remedies(plan: Plan) -> list[str]:
    if not plan.remedies:
        return []
    lines = ['', f'What helps, GiB ({plan.capacity / GIB:.1f} fit)', f'  {"":<32} {"alone":>8} {"together":>9}']
    for remedy in plan.remedies:
        together = '' if remedy.together is None else f'{remedy.together / GIB:.1f}'
        lines.append(f'  {remedy.name:<32} {remedy.alone / GIB:>8.1f} {together:>9}   {remedy.how}')
    return lines
