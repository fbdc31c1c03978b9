"""How strongly each branch pulls at the backbone: the norm of its gradient on the backbone's output."""

from __future__ import annotations

import torch
from mmengine.dist import all_reduce, get_world_size
from torch import Tensor


class BranchGradients:
    """Measures gradients where branches meet the backbone, during the one backward pass that there is.

    The gradient of each branch on the parameters of the backbone would take a backward pass through it for each branch.
    Its gradient on the tokens that the backbone gives is had for nothing, and is what the backbone's own backward pass
    starts from. Weights of the losses are part of it.
    """

    def __init__(self) -> None:
        self._squares: dict[str, Tensor] = {}

    def tap(self, branch: str, tokens: Tensor) -> Tensor:
        """``tokens``, to be handed to ``branch`` alone; of several tensors of a branch the norms go together."""
        if not tokens.requires_grad:
            return tokens
        tapped = tokens.view_as(tokens)
        tapped.register_hook(lambda grad: self._add(branch, grad))
        return tapped

    def _add(self, branch: str, grad: Tensor) -> None:
        dtype = torch.promote_types(grad.dtype, torch.float32)  # without a copy of the gradient in it
        square = torch.linalg.vector_norm(grad, dtype=dtype).square()
        self._squares[branch] = self._squares.get(branch, 0) + square

    def take(self) -> dict[str, float]:
        """The norm by branch, over all processes and all backward passes since the last call."""
        names = sorted(self._squares)
        if not names:
            return {}
        squares = torch.stack([self._squares[name] for name in names])
        self._squares = {}
        all_reduce(squares)
        # Each process works on the loss of its own samples; that of the batch is their mean.
        return dict(zip(names, (squares.sqrt() / get_world_size()).tolist()))
