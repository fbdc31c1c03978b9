"""Linear models of features: logistic regression, and least squares from sums that may be streamed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

_STEPS = 100
# Of a feature that does not vary.
_TINY = 1e-6


@dataclass(frozen=True)
class Scaling:
    """Makes features of mean 0 and deviation 1; ``mean`` and ``scale`` are (C,)."""

    mean: Tensor
    scale: Tensor

    @classmethod
    def of(cls, features: Tensor) -> Scaling:
        """That of (N, C) features."""
        deviation = features.std(0, correction=0)
        return cls(features.mean(0), 1 / deviation.clamp(min=_TINY).where(deviation > _TINY, 1.0))

    def __call__(self, features: Tensor) -> Tensor:
        return (features - self.mean) * self.scale


@dataclass(frozen=True)
class Linear:
    """Features (..., C) to values (..., D): ``weight`` (C, D) and ``bias`` (D,), on scaled features."""

    scaling: Scaling
    weight: Tensor
    bias: Tensor

    def __call__(self, features: Tensor) -> Tensor:
        return self.scaling(features) @ self.weight + self.bias

    @classmethod
    def constant(cls, channels: int, values: Tensor) -> Linear:
        """One that gives ``values`` (D,) whatever the features."""
        scaling = Scaling(torch.zeros(channels), torch.ones(channels))
        return cls(scaling, torch.zeros(channels, len(values)), values)


def fit_logistic(features: Tensor, labels: Tensor, classes: int, strength: float, steps: int = _STEPS) -> Linear:
    """Multinomial logistic regression by L-BFGS.

    Args:
        features: (N, C).
        labels: (N, K) classes of K predictions from the same features, -1 where there is none.
        classes: number of them.
        strength: of the penalty, half the squared weights.
        steps: iterations at most.

    Returns:
        A model with K * classes outputs, K major.
    """
    scaling = Scaling.of(features)
    x, outputs = scaling(features), labels.shape[1]
    weight = torch.zeros(x.shape[1], outputs * classes, requires_grad=True)
    bias = torch.zeros(outputs * classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=steps, history_size=10, line_search_fn='strong_wolfe',
                                  tolerance_grad=1e-6, tolerance_change=1e-7)
    flat = labels.reshape(-1)

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = (x @ weight + bias).reshape(-1, classes)
        value = F.cross_entropy(logits, flat, ignore_index=-1) + strength / 2 * weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return Linear(scaling, weight.detach(), bias.detach())


def choose_strength(strengths: Sequence[float], score: Callable[[float], float]) -> float:
    """The strength with the best score; of equal ones the largest."""
    return max(sorted(strengths, reverse=True), key=score)


class LeastSquares:
    """Sums from which least squares with a penalty is solved exactly, added up block by block, in float64.

    Args:
        channels: C of the features.
        outputs: D of the targets.
    """

    def __init__(self, channels: int, outputs: int) -> None:
        self.gram = torch.zeros(channels + 1, channels + 1, dtype=torch.float64)
        self.cross = torch.zeros(channels + 1, outputs, dtype=torch.float64)
        self.square = torch.zeros(outputs, dtype=torch.float64)

    def add(self, features: Tensor, targets: Tensor) -> None:
        """Take (N, C) features and their (N, D) targets in."""
        x = F.pad(features, (0, 1), value=1.0)
        self.gram += (x.T @ x).double()
        self.cross += (x.T @ targets).double()
        self.square += targets.double().square().sum(0)

    def __add__(self, other: LeastSquares) -> LeastSquares:
        total = LeastSquares(len(self.gram) - 1, len(self.square))
        total.gram, total.cross = self.gram + other.gram, self.cross + other.cross
        total.square = self.square + other.square
        return total

    def outputs(self, chosen: slice) -> LeastSquares:
        """The sums of some of the targets."""
        part = LeastSquares(0, 0)
        part.gram, part.cross, part.square = self.gram, self.cross[:, chosen], self.square[chosen]
        return part

    @property
    def number(self) -> float:
        """Rows that were added."""
        return float(self.gram[-1, -1])

    def scaling(self) -> Scaling:
        """Of the features that were added."""
        mean = self.gram[-1, :-1] / max(self.number, 1)
        deviation = (self.gram.diagonal()[:-1] / max(self.number, 1) - mean.square()).clamp(min=0).sqrt()
        return Scaling(mean.float(), (1 / deviation.where(deviation > _TINY, 1.0)).float())

    def solve(self, strength: float) -> Linear:
        """The model with the smallest squared error, plus ``strength`` * N times the squared weights of scaled
        features; the bias is free."""
        scaling = self.scaling()
        mean, scale, number = scaling.mean.double(), scaling.scale.double(), max(self.number, 1)
        centred = self.gram[:-1, :-1] - number * torch.outer(mean, mean)
        centred = centred * scale * scale[:, None]
        target = self.cross[-1] / number
        cross = (self.cross[:-1] - number * torch.outer(mean, target)) * scale[:, None]
        weight = torch.linalg.solve(centred + strength * number * torch.eye(len(centred), dtype=torch.float64), cross)
        return Linear(scaling, weight.float(), target.float())

    def error(self, model: Linear) -> float:
        """Sum of the squared errors of ``model`` on what was added."""
        weight = (model.weight * model.scaling.scale[:, None]).double()
        bias = model.bias.double() - model.scaling.mean.double() @ weight
        full = torch.cat((weight, bias[None]))
        return float((self.square - 2 * (full * self.cross).sum(0) + (full * (self.gram @ full)).sum(0)).sum())
