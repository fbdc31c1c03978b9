"""A plan as text and as plain values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Optional

from sapiens2.planning.gpus import GIB
from sapiens2.planning.memory import CONTEXT, FRAGMENTS, NCCL, Memory
from sapiens2.planning.operations import LAUNCH
from sapiens2.planning.plan import Plan
from sapiens2.planning.runs import LARGEST
from sapiens2.planning.speed import Rates
from sapiens2.planning.timeline import Phase

NAMES = {
    'weights': 'weights', 'averages': 'teacher, or averages of the weights', 'optimizer': 'state of the optimizer',
    'gradients': 'gradients', 'waiting': 'gradients not summed yet', 'activations': 'activations kept',
    'temporary': 'temporary', 'communication': 'weights put together, buckets',
    'framework': 'CUDA, NCCL, unusable pieces'}
PHASES = {Phase.FORWARD: 'forward pass', Phase.BACKWARD: 'backward pass', Phase.UPDATE: 'update'}
RECOMPUTED = {0: 'no activations recomputed', 1: 'activations recomputed',
              2: 'activations of every second block recomputed'}


def plain(plan: Plan, images: Optional[float] = None) -> dict[str, Any]:
    """A plan for JSON: memory in bytes, time in seconds."""
    memory, speed, run = plan.memory, plan.speed, plan.run
    phase, done = memory.moment
    return dict(
        gpu=asdict(plan.gpu), settings=asdict(run.settings), spread=asdict(run.spread), accumulate=run.accumulate,
        parameters=plan.parameters, capacity=plan.capacity, fits=plan.fits, largest_batch=plan.largest,
        memory=dict(**{part: getattr(memory, part) for part in Memory.PARTS}, total=memory.total, host=memory.host,
                    moment=[phase.name.lower(), done], most=memory.most, largest_temporary=list(memory.largest),
                    temporary_pieces=memory.pieces),
        speed=dict(asdict(speed), seconds=speed.seconds, bound=speed.bound, images_per_second=speed.rate,
                   utilisation=speed.utilisation, days=None if images is None else speed.days(images)),
        remedies=[asdict(remedy) for remedy in plan.remedies])


def text(plan: Plan, title: str, gpu: str, rates: Rates, images: Optional[float] = None) -> str:
    """A plan for people."""
    lines = [*_run(plan, title, gpu), '', *_memory(plan), '', *_time(plan, images), *_remedies(plan), '',
             *_assumptions(rates)]
    return '\n'.join(lines)


def _run(plan: Plan, title: str, gpu: str) -> list[str]:
    run, spread, settings = plan.run, plan.run.spread, plan.run.settings
    if settings.recompute is None:
        recomputed = f'activations {"recomputed" if plan.speed.repeated else "kept"}, as the config says'
    else:
        recomputed = RECOMPUTED.get(settings.recompute, f'activations of every {settings.recompute}th block recomputed')
    shared = f', each copy of the model over {spread.shards}' if spread.is_sharded else ''
    return [
        f'{title}: {plan.parameters:,} parameters',
        f'{spread.num} x {gpu} in {_count(spread.nodes, "node")}, {spread.strategy}{shared}'
        + (', parameters on the host' if spread.offload else ''),
        f'{_count(settings.batch, "image")} a GPU and pass, {_count(run.accumulate, "pass", "passes")} an update: '
        f'{_count(plan.speed.samples, "image")}; {"bf16" if settings.half else "fp32"}, {recomputed}']


def _memory(plan: Plan) -> list[str]:
    memory = plan.memory
    phase, done = memory.moment
    lines = [f'{"memory of a GPU, GiB":<40} {"at worst":>9} {"its most":>9}']
    for part in Memory.PARTS:
        size = getattr(memory, part)
        most = memory.most.get(part, size)
        if size or most or part == 'weights':
            lines.append(f'  {NAMES[part]:<38} {size / GIB:>9.2f} {most / GIB:>9.2f}')
    lines.append(f'  {"sum, of " + format(plan.capacity / GIB, ".1f"):<38} {memory.total / GIB:>9.2f}'
                 + ('' if plan.fits else '   does not fit'))
    lines += [f'  at worst: the moment of most memory, after {done:.0%} of the {PHASES[phase]}',
              '  its most: of each part at another moment, so these do not add up']
    if memory.largest[1]:
        lines.append(f'  largest of {_count(memory.pieces, "temporary piece")} at worst: {memory.largest[0]}, '
                     f'{memory.largest[1] / GIB:.2f}')
    if memory.host:
        lines.append(f'  in the memory of each host: {memory.host / GIB:.0f}')
    lines.append(f'  largest batch of a GPU and pass that fits: {plan.largest or "none"}'
                 + (' or more' if plan.largest == LARGEST else ''))
    return lines


def _time(plan: Plan, images: Optional[float]) -> list[str]:
    speed = plan.speed
    lines = [f'{"time of an update":<40} {"s":>9}']
    lines += [f'  {name:<38} {value:>9.3f}' for name, value in (
        ('forward pass', speed.forward),
        ('backward pass' + (', with recomputing' if speed.repeated else ''), speed.backward),
        ('optimizer, averages', speed.update), ('exchange between GPUs, meanwhile', speed.collectives),
        ('data loader, meanwhile', speed.loading))]
    lines += [f'  {"an update, bound by " + speed.bound:<38} {speed.seconds:>9.3f}', '',
              f'{speed.rate:,.1f} images/s; {speed.flops / 1e12:,.1f} TFLOP a GPU and update'
              + (f' and {speed.repeated / 1e12:,.1f} recomputed' if speed.repeated else '')
              + f'; model FLOPs utilisation {speed.utilisation:.1%}']
    if images is not None:
        lines.append(f'{images:,.0f} images: {images / speed.samples:,.0f} updates, {speed.days(images):,.1f} days, '
                     f'{speed.days(images) * 24 * plan.run.spread.num:,.0f} GPU hours')
    return lines


def _remedies(plan: Plan) -> list[str]:
    if not plan.remedies:
        return []
    lines = ['', f'What helps, GiB of {plan.capacity / GIB:.1f}: each alone, and with those above it until all fits',
             f'  {"":<32} {"alone":>8} {"together":>9}']
    for remedy in plan.remedies:
        together = '' if remedy.together is None else f'{remedy.together / GIB:.1f}'
        lines.append(f'  {remedy.name:<32} {remedy.alone / GIB:>8.1f} {together:>9}   {remedy.how}')
    if all(min(remedy.alone, remedy.together or remedy.alone) > plan.capacity for remedy in plan.remedies):
        lines.append('None of it is enough: take a GPU with more memory, a smaller model or smaller pictures.')
    return lines


def _assumptions(rates: Rates) -> list[str]:
    if rates.measured:
        return [f'Time: as measured, {rates.measured:g} images/s of a GPU. Stated, not measured: links at '
                f'{rates.links:.0%} of their bandwidth,', f'{rates.load:g} images/s from each worker of a data loader; '
                + _stated_memory()]
    return [f'Stated, not measured: matrix products at {rates.products:.0%} of the peak, memory at {rates.memory:.0%} '
            f'and links at {rates.links:.0%} of their bandwidth,',
            f'{LAUNCH * 1e6:.0f} us at least for an operation; {rates.load:g} images/s from each worker of a data '
            'loader;', _stated_memory()]


def _stated_memory() -> str:
    return f'{CONTEXT / GIB:.1f} GiB for CUDA, {NCCL / GIB:.1f} for NCCL, {FRAGMENTS:.0%} lost to unusable pieces.'


def _count(number: int, name: str, several: Optional[str] = None) -> str:
    return f'{number:,} {name if number == 1 else several or name + "s"}'
