"""Time and memory of finding near duplicates among made-up hashes, each number in a process of its own.

    OMP_NUM_THREADS=1 python benchmarks/curation_duplicates.py 1e4 1e5 1e6 1e7

Of the pictures 5 % are copies: up to 30 bits of 256 of their hashes are others. Hashes of inner parts differ from
those of the whole in 20 bits.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from sapiens2.curation.duplicates import NearDuplicates, groups_of

_COPIES, _BITS, _INNER_BITS, _MOST = 0.05, 256, 20, 30
_ROWS = 1 << 18


def turned(hashes: np.ndarray, least: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """(N, 32) uint8 hashes with ``least`` to ``most`` bits turned over, drawn for each; bits may be drawn twice."""
    result = hashes.copy()
    for start in range(0, len(hashes), _ROWS):
        part = result[start:start + _ROWS]
        wanted = rng.integers(least, most + 1, len(part))
        for number in range(most):
            rows = np.flatnonzero(number < wanted)
            bits = rng.integers(0, _BITS, len(rows))
            part[rows, bits // 8] ^= (1 << bits % 8).astype(np.uint8)
    return result


def made(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hashes of whole pictures and of inner parts, (N, 32) uint8, and (M, 2) which are copies of which."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 256, (count, 32), dtype=np.uint8)
    copies = round(_COPIES * count)
    originals = rng.permutation(count - copies)[:copies]
    whole[count - copies:] = turned(whole[originals], 0, _MOST, rng)
    inner = turned(whole, _INNER_BITS, _INNER_BITS, rng)
    return whole, inner, np.column_stack((originals, np.arange(count - copies, count)))


def measure(count: int) -> None:
    """Print a row of the table."""
    whole, inner, planted = made(count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, start_cores = time.perf_counter(), time.process_time()
    pairs = NearDuplicates().pairs(whole, inner)
    cores, clock = time.process_time() - start_cores, time.perf_counter() - start
    groups = groups_of(pairs, count)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    found = (groups[planted[:, 0]] == groups[planted[:, 1]]).mean()
    true = np.isin(pairs[:, 0] * count + pairs[:, 1], planted[:, 0] * count + planted[:, 1]).mean()
    print(f'| {count:,} | {cores:,.2f} | {clock:,.2f} | {1e6 * cores / count:.1f} | {memory / 1e6:,.0f} | '
          f'{memory / count:,.0f} | {found:.4f} | {true:.4f} |', flush=True)


def main() -> None:
    """Measure each number in a process of its own, so that each has its own peak of memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('counts', nargs='+', type=float, help='pictures')
    parser.add_argument('--one', action='store_true', help='measure in this process')
    args = parser.parse_args()
    if args.one:
        measure(int(args.counts[0]))
        return
    print('| pictures | core, s | clock, s | core, us a picture | beyond the hashes, MB | bytes a picture | recall | '
          'precision |\n|---:|---:|---:|---:|---:|---:|---:|---:|', flush=True)
    for count in args.counts:
        subprocess.run([sys.executable, __file__, str(count), '--one'], check=True)


if __name__ == '__main__':
    main()
