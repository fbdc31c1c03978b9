"""Images a second and core that the pretraining pipeline makes of a folder of photographs, and what the time goes to.

    python benchmarks/pretrain_loading.py --data-root PHOTOGRAPHS [--draws 200] [--blocks 5]
    python benchmarks/pretrain_loading.py --data-root PHOTOGRAPHS --order --gigabytes 2

First form: for each size and augmentation set of the base configs, draws in blocks, processor time of the fastest block
(one thread), in whole and by part. Parts are timed inside the same draws. Files then lie in the system's cache.

``--order``: photographs are repeated into tar files of 100 MB, which are dropped from the system's cache and then
read by one process, in files' order, shuffled within windows of files, and shuffled as a whole; time on the clock.
"""

from __future__ import annotations

import os

# One core: these are read when the libraries are loaded.
os.environ.update(OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1', MKL_NUM_THREADS='1')

import argparse  # noqa: E402
import functools  # noqa: E402
import io  # noqa: E402
import itertools  # noqa: E402
import tarfile  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections import defaultdict  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import cv2  # noqa: E402
import torch  # noqa: E402
from mmengine.config import Config  # noqa: E402

from sapiens2.datasets import PretrainFolderDataset, PretrainShardsDataset, collate_crops  # noqa: E402
from sapiens2.datasets.samplers import Draw, ResumableInfiniteSampler  # noqa: E402
from sapiens2.datasets.transforms import AugmentCrops, PackCrops, RandomTokenMask, multi_crop  # noqa: E402
from sapiens2.registry import register_all  # noqa: E402

CONFIGS = Path(__file__).parents[1] / 'configs' / '_base_' / 'datasets'
# Global and local sizes (H, W), pixels.
SIZES = {'256x192': ((256, 192), (64, 48)), '512x384': ((512, 384), (128, 96)), '1024x768': ((1024, 768), (256, 192))}
BATCH = 8
SHARD_BYTES = 100_000_000


class Parts:
    """Processor time by part, of functions that are wrapped."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def watch(self, owner: Any, name: str, part: str) -> None:
        """Count what ``owner.name`` takes as ``part``."""
        function: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[part] += time.process_time() - start

        setattr(owner, name, timed)


def watched() -> Parts:
    """Watch the parts of a draw."""
    parts = Parts()
    parts.watch(PretrainFolderDataset, 'read', 'read')
    parts.watch(multi_crop, '_encoded', 'header')
    parts.watch(multi_crop.EncodedImage, 'decode', 'decode')
    parts.watch(multi_crop, '_cut', 'cut and resample')
    parts.watch(AugmentCrops, 'apply', 'light, colour, blur')
    parts.watch(RandomTokenMask, 'apply', 'mask')
    parts.watch(PackCrops, 'apply', 'planes')
    return parts


def speed(args: argparse.Namespace) -> None:
    """The first form."""
    parts = watched()
    pipelines = {'mild': Config.fromfile(CONFIGS / 'pretrain_folder.py').train_pipeline,
                 'dino': Config.fromfile(CONFIGS / 'pretrain_dino.py').dino_pipeline}
    for (name, (size, local)), (kind, pipeline) in itertools.product(SIZES.items(), pipelines.items()):
        for views in ('2 + 8', '1 + 0'):
            number, locals_ = (int(text) for text in views.split(' + '))
            crops = dict(global_crops=dict(size=size, number=number), local_crops=dict(size=local, number=locals_))
            found = PretrainFolderDataset(args.data_root, pipeline=pipeline, pipeline_options=dict(MultiCrop=crops),
                                          index_dir=args.index_dir)
            draws = iter(ResumableInfiniteSampler(found, seed=0))
            blocks = []
            for _ in range(args.blocks):
                parts.seconds.clear()
                start = time.process_time()
                for _ in range(args.draws // BATCH):
                    samples = [found[draw] for draw in itertools.islice(draws, BATCH)]
                    before = time.process_time()
                    collate_crops(samples)
                    parts.seconds['batch'] += time.process_time() - before
                count = args.draws // BATCH * BATCH
                blocks.append(((time.process_time() - start) / count, dict(parts.seconds), count))
            seconds, shares, count = min(blocks, key=lambda block: block[0])
            shares['other'] = seconds * count - sum(shares.values())
            text = ', '.join(f'{part} {1e3 * value / count:.2f}' for part, value in shares.items())
            print(f'{name} {kind} {views}: {1 / seconds:.0f} images a second and core, {1e3 * seconds:.1f} ms ({text})',
                  flush=True)


def write_shards(folder: Path, photographs: list[bytes], size: int) -> int:
    """Tar files of ``size`` bytes in all; returns the number of pictures."""
    number = 0
    pictures = itertools.cycle(photographs)
    for shard in range(-(-size // SHARD_BYTES)):
        with tarfile.open(folder / f'{shard:04d}.tar', 'w') as tar:
            while tar.offset < SHARD_BYTES:
                content = next(pictures)
                member = tarfile.TarInfo(f'{number:08d}.jpg')
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
                number += 1
    return number


def forget(folder: Path) -> None:
    """Drop the files of a folder from the system's cache."""
    os.sync()
    for path in folder.glob('*.tar'):
        with open(path, 'rb') as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def order(args: argparse.Namespace) -> None:
    """The second form."""
    photographs = [path.read_bytes() for path in sorted(Path(args.data_root).rglob('*.jpg'))]
    with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
        start = time.perf_counter()
        count = write_shards(Path(folder), photographs, int(args.gigabytes * 1e9))
        print(f'{count} pictures written in {time.perf_counter() - start:.1f} s')
        forget(Path(folder))
        start = time.perf_counter()
        found = PretrainShardsDataset(folder)
        seconds = time.perf_counter() - start
        print(f'indexed in {seconds:.2f} s, {len(found) / seconds:.0f} members/s')
        for name, options in (('in order', dict(shuffle=False)), ('window of 2', 2), ('window of 16', 16),
                              ('as a whole', None), ('in order', dict(shuffle=False))):
            if isinstance(options, dict):
                sampler = ResumableInfiniteSampler(found, seed=0, **options)
            else:
                locality = found.locality
                found.locality = None if options is None else locality._replace(window=options)
                sampler = ResumableInfiniteSampler(found, seed=0)
                found.locality = locality
            draws: list[Draw] = list(itertools.islice(sampler, count))
            forget(Path(folder))
            start = time.perf_counter()
            size = sum(len(found.read(draw.index)) for draw in draws)
            seconds = time.perf_counter() - start
            print(f'{name}: {count / seconds:.0f} pictures/s, {size / seconds / 1e6:.0f} MB/s', flush=True)


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data-root', required=True)
    parser.add_argument('--index-dir', help='where the list of images goes; default: beside them')
    parser.add_argument('--draws', type=int, default=200)
    parser.add_argument('--blocks', type=int, default=5)
    parser.add_argument('--order', action='store_true')
    parser.add_argument('--gigabytes', type=float, default=2.0)
    parser.add_argument('--scratch', help='folder on the disk to measure; default: that for temporary files')
    args = parser.parse_args()
    register_all()
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    order(args) if args.order else speed(args)


if __name__ == '__main__':
    main()
