"""What the quickstart does: how many people, how long each network is trained, and with which commands."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sapiens2.quickstart.steps import Step, lines_of, newest_iteration
from sapiens2.utils.paths import configs_dir

# For about twelve minutes on two cores.
ITERATIONS = {'normal': 1000, 'pointmap': 1000, 'seg': 800, 'albedo': 1300, 'pose': 900}
# What few pictures are enough for: one whole person each, and one lens, as else no picture tells how far away that is.
_EASY = ('--most-people', '1', '--shots', 'whole', '--focal', '50', '50')
_PROGRAM = (sys.executable, '-m', 'sapiens2.cli')


@dataclass(frozen=True)
class Plan:
    """One quickstart.

    Attributes:
        out: folder of everything that is made.
        seed: of the people and of the networks.
        people: pictures that are generated.
        size: (H, W) of them, pixels.
        held_out_every: each so many-th picture is not trained on.
        iterations: updates of the weights, by task.
    """

    out: Path
    seed: int = 0
    people: int = 400
    size: tuple[int, int] = (256, 192)
    held_out_every: int = 10
    iterations: dict[str, int] = field(default_factory=lambda: dict(ITERATIONS))

    @classmethod
    def quick(cls, out: Path, seed: int = 0) -> Plan:
        """One that shows in a minute or two whether everything runs; its networks have learnt nothing."""
        return cls(out, seed, people=12, size=(96, 72), held_out_every=3, iterations=dict.fromkeys(ITERATIONS, 4))

    def noted(self) -> dict[str, Any]:
        """As the folder notes it, to find out that another plan is given later."""
        return {name: list(value) if isinstance(value, tuple) else value
                for name, value in asdict(self).items() if name != 'out'}

    @property
    def held_out(self) -> int:
        """Pictures that are not trained on."""
        return self.people // self.held_out_every

    @property
    def data(self) -> Path:
        """Folder of the generated people."""
        return self.out / 'data'

    @property
    def portrait(self) -> Path:
        """The photograph that the networks are tried on."""
        return self.out / 'portrait.png'

    def config(self, task: str) -> Path:
        """Config of a task."""
        return configs_dir() / task / f'sapiens2-micro_{task}_synth-128x96.py'

    def checkpoint(self, task: str) -> Path:
        """Where the training of a task leaves its weights."""
        return self.out / task / f'iter_{self.iterations[task]}.pth'

    def figures(self, task: str) -> Path:
        """The figures of the trained network on the held-out people."""
        return self.out / 'figures' / f'{task}.json'

    def trivial_figures(self, task: str) -> Path:
        """The figures of the predictor that does not look at the picture."""
        return self.out / 'figures' / f'{task}_trivial.json'

    def generation(self) -> Step:
        """Make the people."""
        height, width = self.size
        command = (*_PROGRAM, 'synth', '--num', str(self.people), '--size', str(height), str(width), '--val-every',
                   str(self.held_out_every), '--seed', str(self.seed), '--out', str(self.data), *_EASY)
        return Step('people', command, self.data / 'annotations' / 'keypoints_val.json', self.people,
                    lambda log: lines_of(self.data / 'samples.jsonl'))

    def training(self, task: str) -> Step:
        """Train the network of a task."""
        count = self.iterations[task]
        command = (*_PROGRAM, 'train', str(self.config(task)), '--work-dir', str(self.out / task), '--resume', '--seed',
                   str(self.seed), '--cfg-options', f'data_root={self.data}', f'train_cfg.max_iters={count}',
                   f'train_cfg.val_interval={count}', 'default_hooks.checkpoint.interval=200',
                   'default_hooks.logger.interval=10')
        return Step(f'train {task}', command, self.checkpoint(task), count, newest_iteration)

    def test(self, task: str) -> Step:
        """Measure the network of a task on the held-out people."""
        command = (*_PROGRAM, 'test', str(self.config(task)), str(self.checkpoint(task)), '--work-dir',
                   str(self.out / 'figures' / task), '--dump', str(self.figures(task)), '--cfg-options',
                   f'data_root={self.data}')
        return Step(f'test {task}', command, self.figures(task))

    def lanes(self) -> list[list[Step]]:
        """Steps that may run beside one another, each list in order."""
        return [[self.training(task), self.test(task)] for task in self.iterations]


def shown(command: tuple[str, ...]) -> str:
    """A command of this project as people type it."""
    return shlex.join(('sapiens2', *command[len(_PROGRAM):]))
