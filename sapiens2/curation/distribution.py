"""How often bins occur before and after a set was balanced: figures, and bars for reports."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from sapiens2.curation.balance import Partition

_BEFORE, _AFTER, _TARGET = '#b9c4d0', '#2f6f9f', '#c2442d'
_ROW, _BAR, _LABEL, _WIDTH, _NUMBER = 26, 9, 150, 420, 170  # pixels


@dataclass(frozen=True)
class Distribution:
    """Of one attribute.

    Attributes:
        name: of the attribute.
        labels: of the bins that occur.
        before: (B,) images that balance was given.
        after: (B,) of them, those that it keeps.
        target: (B,) shares that were asked for, as if there were enough images of each bin.
    """

    name: str
    labels: list[str]
    before: np.ndarray
    after: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, partition: Partition, kept: np.ndarray) -> Distribution:
        """Of bins, and of which images (N,) bool are kept."""
        before, after = partition.sizes, np.bincount(partition.bins[kept], minlength=len(partition.labels))
        occur = np.flatnonzero(before)
        weights = partition.weights[occur]
        weights = weights if weights.sum() else np.ones(len(occur))
        return cls(partition.name, [partition.labels[number] for number in occur], before[occur], after[occur],
                   weights / weights.sum())

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """Bin, images and their share before and after, and the share that was asked for, as texts."""
        before, after = shares(self.before), shares(self.after)
        return [(label, f'{self.before[row]:,}', f'{before[row]:.1%}', f'{self.after[row]:,}', f'{after[row]:.1%}',
                 f'{self.target[row]:.1%}') for row, label in enumerate(self.labels)]

    def summary(self) -> tuple[str, str, str, str, str, str]:
        """Attribute, bins, entropy before, after, of the target, and divergence before and after, as texts."""
        return (self.name, f'{len(self.labels)}', f'{entropy(shares(self.before)):.2f}',
                f'{entropy(shares(self.after)):.2f}', f'{entropy(self.target):.2f}',
                f'{divergence(shares(self.before), self.target):.3f} → '
                f'{divergence(shares(self.after), self.target):.3f}')

    def bars(self) -> str:
        """An SVG picture: of each bin its share before (grey) and after (blue), and that asked for (red line)."""
        before, after = shares(self.before), shares(self.after)
        most = max(before.max(), after.max(), self.target.max(), 1e-9)
        parts = []
        for row, label in enumerate(self.labels):
            top = row * _ROW
            parts.append(f'<text x="{_LABEL - 8}" y="{top + 16}" text-anchor="end">{escape(_short(label))}</text>')
            for share, offset, colour in ((before[row], 3, _BEFORE), (after[row], 3 + _BAR, _AFTER)):
                parts.append(f'<rect x="{_LABEL}" y="{top + offset}" width="{share / most * _WIDTH:.1f}" '
                             f'height="{_BAR}" fill="{colour}"/>')
            line = _LABEL + self.target[row] / most * _WIDTH
            parts.append(f'<path d="M{line:.1f} {top + 1}V{top + 5 + 2 * _BAR}" stroke="{_TARGET}" '
                         'stroke-width="2"/>')
            end = _LABEL + max(before[row], after[row], self.target[row]) / most * _WIDTH + 8
            parts.append(f'<text x="{end:.1f}" y="{top + 16}" fill="#555">{before[row]:.1%} → {after[row]:.1%}</text>')
        height = _ROW * len(self.labels) + 4
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABEL + _WIDTH + _NUMBER}" height="{height}" '
                f'font-family="system-ui, sans-serif" font-size="13" role="img" '
                f'aria-label="{escape(self.name)} before and after">{"".join(parts)}</svg>')


def shares(counts: np.ndarray) -> np.ndarray:
    """Counts over their sum; zeros for none."""
    return counts / max(counts.sum(), 1)


def entropy(share: np.ndarray) -> float:
    """Bits."""
    share = share[share > 0]
    return float(-(share * np.log2(share)).sum()) + 0.0


def divergence(share: np.ndarray, target: np.ndarray) -> float:
    """Kullback-Leibler divergence of shares from those asked for, bits; infinite if some were not wanted at all."""
    found = share > 0
    if (target[found] <= 0).any():
        return float('inf')
    return max(float((share[found] * np.log2(share[found] / target[found])).sum()), 0.0)


def _short(label: str) -> str:
    return label if len(label) <= 22 else label[:21] + '…'
