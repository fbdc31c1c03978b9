"""Which tokens of each crop a masked encoder sees."""

from __future__ import annotations

import numpy as np

from sapiens2.datasets.errors import Kind
from sapiens2.datasets.transforms.base import Step
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS


@TRANSFORMS.register_module()
class RandomTokenMask(Step):
    """Hide a part of the tokens of each global crop, every set of so many tokens equally likely.

    Sets ``visible`` (G, n) int64, ascending indices of the tokens that are not hidden, row * columns + column;
    ``token_size``, pixels; nothing with a ratio of 0. He et al., "Masked Autoencoders Are Scalable Vision Learners",
    arXiv 2111.06377.

    Args:
        ratio: hidden part, at least 0 and below 1; of N tokens exactly round(N * ratio) are hidden.
        token_size: side of what is hidden at a time, pixels: of a patch, or of a window with the 4K tokenizer.

    Raises:
        DataError: if the sides of a crop are no multiples of it, or no token would be left.
    """

    needs = ('global_crops',)

    def __init__(self, ratio: float = 0.75, token_size: int = 16) -> None:
        if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio < 1:
            raise ValueError(f'RandomTokenMask.ratio must be at least 0 and below 1, not {ratio!r}')
        if isinstance(token_size, bool) or not isinstance(token_size, int) or token_size < 1:
            raise ValueError(f'RandomTokenMask.token_size must be a number of pixels, not {token_size!r}')
        self.ratio, self.token_size = ratio, token_size

    def apply(self, results: Results) -> Results:
        """Add the mask to ``results``."""
        if not self.ratio:
            return results
        size, crops = results['global_crops'][0].shape[:2], len(results['global_crops'])
        if size[0] % self.token_size or size[1] % self.token_size:
            raise self.fault(results, Kind.SIZE, 'global_crops', f'cannot part crops of height, width {size} into '
                             f'tokens of {self.token_size} pixels', 'let the size of global crops be a multiple of '
                             'token_size')
        tokens = (size[0] // self.token_size) * (size[1] // self.token_size)
        shown = tokens - round(tokens * self.ratio)
        if not shown:
            raise self.fault(results, Kind.SIZE, 'global_crops', f'would hide all of the {tokens} tokens of a crop',
                             'take a lower ratio, or larger crops')
        results['visible'] = np.sort([np.random.permutation(tokens)[:shown] for _ in range(crops)]).astype(np.int64)
        results['token_size'] = self.token_size
        return results
