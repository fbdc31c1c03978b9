"""Networks larger than memory: each block is read from its file when its turn comes, and dropped after it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Optional

import torch
from torch import Tensor, nn

from sapiens2.models.checkpoints.block_weights import BlockWeights

# The block that computes, its reordered copy (see ``packed_linear``), and the one that is read meanwhile.
BLOCKS_IN_MEMORY = 3


class LayerStream:
    """Hooks on blocks that bring their weights in time: while one computes, a thread reads the next.

    The blocks have to run in order and not be trained. The file must not be overwritten while the network is in use.
    """

    def __init__(self, blocks: Sequence[BlockWeights]) -> None:
        self.blocks = blocks
        self._reader = ThreadPoolExecutor(1, 'sapiens2-weights')
        self._next: Optional[tuple[int, Future[dict[str, Tensor]]]] = None
        for index, weights in enumerate(blocks):
            weights.block.register_forward_pre_hook(self._before(index))
            weights.block.register_forward_hook(self._after(index), always_call=True)

    def _before(self, index: int) -> Any:
        def bring(block: nn.Module, inputs: Any) -> None:
            pending, self._next = self._next, None
            tensors = pending[1].result() if pending and pending[0] == index else self.blocks[index].read()
            # Parameters made in inference mode could not be replaced outside of it.
            with torch.inference_mode(False):
                self.blocks[index].load(tensors)
            if index + 1 < len(self.blocks):
                self._next = index + 1, self._reader.submit(self.blocks[index + 1].read)

        return bring

    def _after(self, index: int) -> Any:
        def drop(block: nn.Module, inputs: Any, output: Any) -> None:
            self.blocks[index].drop()

        return drop
