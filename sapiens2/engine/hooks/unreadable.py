"""Lets training pass over images that cannot be read, within limits, and reports every one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from mmengine.dist import all_gather_object, get_world_size, is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor

from sapiens2.datasets.errors import DataError
from sapiens2.engine.loops import UpdateTrainLoop
from sapiens2.registry import HOOKS
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.printable import printable

_SHOWN = 10


@HOOKS.register_module()
class UnreadableImagesHook(Hook):
    """A training image that cannot be read costs a warning and another draw, until there are too many of them.

    Without this hook, such an image stops the run. With it, the data set draws another sample in its place (see
    ``BaseHumanDataset``); each file is named once in the log and, with the reason, in ``work_dir``, one JSON object
    (path, reason) a line. A resumed run adds to that file. Shares count from the start of the process.

    Args:
        max_share: part of the images tried that may be unreadable, in [0, 1].
        min_count: unreadable images from which on ``max_share`` holds, so that an early one is no reason to stop.
        interval: updates between exchanges of what the processes of a distributed run have found. One process alone
            reports at once.
        file_name: of the list in ``work_dir``.

    Raises:
        DataError: past ``max_share``, in all processes at the same update, with the first files and their reasons.
    """

    priority = 'ABOVE_NORMAL'

    def __init__(self, max_share: float = 0.01, min_count: int = 10, interval: int = 10,
                 file_name: str = 'unreadable_images.jsonl') -> None:
        if not 0 <= max_share <= 1:
            raise ValueError(f'UnreadableImagesHook.max_share must lie in [0, 1], not {max_share}')
        self.max_share, self.min_count, self.interval = max_share, min_count, interval
        self.file_name = file_name
        self.files: dict[str, str] = {}  # path -> reason, of all processes and of runs before this one
        self.tried = self.failed = 0  # images, of all processes
        self._new: list[tuple[str, str]] = []  # of this process, since the last exchange
        self._new_samples = 0

    def before_train(self, runner: Runner) -> None:
        """Read the list of the run before, and let the data set skip."""
        path = self._path(runner)
        if path.exists():
            for number, line in enumerate(path.read_text(encoding='utf-8', errors='replace').splitlines(), 1):
                try:
                    entry = json.loads(line)
                    self.files[str(entry['path'])] = str(entry['reason'])
                except (ValueError, KeyError, TypeError):
                    runner.logger.warning(f'{path}: line {number} is damaged and left out.')
        # Other loops do not show the hook every batch, so what they pass over would be lost.
        runner.train_dataloader.dataset.skip_unreadable = isinstance(runner.train_loop, UpdateTrainLoop)

    def after_train_batch(self, runner: Runner, data_batch: Optional[Mapping[str, Any]] = None,
                          outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Note what one batch passed over (``UpdateTrainLoop`` calls this for each batch of an update)."""
        for sample in data_batch['data_samples']:
            self._new += sample.get('unreadable', [])
        self._new_samples += len(data_batch['data_samples'])

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None,
                         outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Report, at once or at every ``interval`` updates."""
        if get_world_size() == 1 or self.every_n_train_iters(runner, self.interval):
            self._report(runner)

    def after_train(self, runner: Runner) -> None:
        """Report the rest, and say how many there were."""
        self._report(runner)
        if self.failed:
            runner.logger.warning(f'{self.failed} of {self.tried} images that this run tried could not be read. '
                                  f'{self._path(runner)} lists the files, {len(self.files)} in number.')

    def _path(self, runner: Runner) -> Path:
        return Path(runner.work_dir) / self.file_name

    def _report(self, runner: Runner) -> None:
        """Put together what all processes found; log, write, and stop past the limit."""
        gathered = all_gather_object((self._new, self._new_samples))
        found = [item for new, _ in gathered for item in new]
        self.failed += len(found)
        self.tried += len(found) + sum(samples for _, samples in gathered)
        self._new, self._new_samples = [], 0
        if not found:
            return
        fresh = {path: reason for path, reason in found if path not in self.files}
        self.files.update(fresh)
        for path, reason in fresh.items():
            text = f'cannot read a training image, another is drawn in its place: {path}: {reason}'
            runner.logger.warning(printable(text))
        if fresh and is_main_process():
            self._write(self._path(runner))
        if self.failed >= self.min_count and self.failed > self.max_share * self.tried:
            shown = '\n'.join(printable(f'  {path}: {reason}') for path, reason in [*self.files.items()][:_SHOWN])
            raise DataError(
                f'{self.failed} of the {self.tried} training images tried could not be read, more than the '
                f'{self.max_share:.2%} that UnreadableImagesHook.max_share allows:\n{shown}\n'
                f'{self._path(runner)} lists the files, {len(self.files)} in number. Restore them, take them out of '
                'the annotations, or allow more')

    def _write(self, path: Path) -> None:
        text = ''.join(json.dumps({'path': name, 'reason': reason}, ensure_ascii=False) + '\n'
                       for name, reason in self.files.items())
        with atomic_path(path) as partial:
            # What in a name is not UTF-8 becomes an escape of JSON, which reads back as the same name.
            partial.write_text(text, encoding='utf-8', errors='backslashreplace')
