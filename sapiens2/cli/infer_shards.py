"""``sapiens2 infer --devices``: a process for each device, each with its share of the images and videos."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Optional

from sapiens2.utils.parallel import end_with_parent

if TYPE_CHECKING:
    from sapiens2.apis.image_sources import ImageSource
    from sapiens2.apis.video.inputs import VideoInput
    from sapiens2.cli.infer_report import Report

# Of a result, what the report needs; the rest is files by now.
_BRIEF = ('task', 'path', 'error', 'files', 'finished_before', 'people', 'bboxes', 'message',
          'skipped_boxes', 'boxes_below_threshold', 'frame')
_RESULT, _PROBLEM, _NOTE, _END = 'result', 'problem', 'note', 'end'


def run_shards(args: argparse.Namespace, weights: Mapping[str, str], sources: Sequence[ImageSource],
               videos: Sequence[VideoInput], report: Report) -> None:
    """Run the tasks on all devices at once.

    Raises:
        RuntimeError: naming the device, if its process fails; the others finish their share first.
    """
    context = multiprocessing.get_context('spawn')
    count, workers = len(args.devices), {}
    failures: list[str] = []
    total = None if videos else len(sources) * len(weights)
    try:
        for number in range(count):
            # A pipe for each: one that is killed while it writes holds up no other.
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(target=_work, daemon=True, args=(
                args, weights, sources[number::count], videos[number::count], number, writer))
            process.start()
            writer.close()  # the process has its own, whose end is seen then
            workers[reader] = number, process
        for _ in report.follow(' + '.join(weights), _results(args, workers, report, failures), total):
            pass
    finally:
        for _, process in workers.values():
            process.terminate()
    if failures:
        raise RuntimeError('; '.join(failures) + '. The same command continues with what is not done')


def _results(args: argparse.Namespace, workers: dict[Connection, tuple[int, Any]], report: Report,
             failures: list[str]) -> Iterator[dict[str, Any]]:
    """Results in the order in which they are done, until all processes have ended."""
    while workers:
        for reader in wait(list(workers)):
            try:
                kind, content = reader.recv()
            except (EOFError, OSError):  # its end, between messages or in one
                kind, content = _END, None
            if kind == _RESULT:
                yield content
            elif kind == _PROBLEM:
                report.add_problem(content)
            elif kind == _NOTE:
                report.note(content)
            else:
                number, process = workers.pop(reader)
                process.join()
                if content or process.exitcode:
                    failures.append(f'{args.devices[number]}: {content or _ending(process.exitcode)}')


def _ending(code: int) -> str:
    """How a process has ended that said nothing."""
    if code == -signal.SIGKILL:
        return 'the process was killed, as systems do when memory is short'
    return f'the process ended with code {code}'


class _Messages:
    """A report whose reader is another process."""

    def __init__(self, writer: Connection) -> None:
        self._writer = writer

    def follow(self, name: str, results: Iterable[Mapping[str, Any]],
               total: Optional[int]) -> Iterator[Mapping[str, Any]]:
        for result in results:
            self._send(_RESULT, {entry: result[entry] for entry in _BRIEF if entry in result})
            yield result

    def add_problem(self, text: str) -> None:
        self._send(_PROBLEM, text)

    def note(self, text: str) -> None:
        self._send(_NOTE, text)

    def end(self, failure: Optional[str]) -> None:
        self._send(_END, failure)

    def _send(self, kind: str, content: Any) -> None:
        self._writer.send((kind, content))


def _work(args: argparse.Namespace, weights: Mapping[str, str], sources: Sequence[ImageSource],
          videos: Sequence[VideoInput], number: int, writer: Connection) -> None:
    """Run one share."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what is finished
    end_with_parent()
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    import torch

    from sapiens2.apis.inference_run import tasks_with_people
    from sapiens2.cli.infer_work import find_boxes, run_tasks
    from sapiens2.cli.output_options import output_options
    device = args.devices[number]
    if device == 'cpu':
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // len(args.devices)))
    report, failure = _Messages(writer), None
    try:
        if sources or videos:
            # The file of boxes has been checked against all images, of which this share may be none that it knows.
            boxes = find_boxes(args, [], device) if tasks_with_people(weights, output_options(args)) else None
            run_tasks(args, weights, sources, videos, boxes, device, report)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        failure = str(error)
    report.end(failure)
