"""How a config is run: batch, passes of an update, GPUs that share the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from sapiens2.planning.training import Settings
from sapiens2.utils.config import ConfigError
from sapiens2.utils.suggest import UnknownNameError, unknown_name

LARGEST = 4096  # batch of a GPU and pass that is looked at
STRATEGIES = ('single', 'ddp', 'fsdp2', 'hybrid')


@dataclass(frozen=True)
class Spread:
    """How a model is spread over GPUs.

    Attributes:
        strategy: of ``STRATEGIES``; 'hybrid' is FSDP2 with one copy of the model on each node.
        num: GPUs.
        per_node: GPUs of a node.
        offload: keep parameters, gradients and the optimizer's state in the memory of the host.
        shard_size: GPUs that share one copy; default: as ``strategy`` says.
        reduce_every_batch: sum the gradients of each accumulated batch, as the option of ``FSDP2``; otherwise they are
            kept whole until the last one.

    Raises:
        ConfigError: for numbers that do not divide, or a strategy that cannot be.
    """

    strategy: str
    num: int
    per_node: int = 8
    offload: bool = False
    shard_size: Optional[int] = None
    reduce_every_batch: bool = True

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise UnknownNameError('--strategy: ' + unknown_name(self.strategy, STRATEGIES, 'strategy'))
        if self.strategy == 'single' and self.num > 1:
            raise ConfigError(f'--strategy single is for one GPU, and --num is {self.num}: take ddp or fsdp2')
        if self.num > self.per_node and self.num % self.per_node:
            raise ConfigError(f'--num {self.num} GPUs cannot be spread over nodes of {self.per_node}: take '
                              f'{self.num // self.per_node * self.per_node} or '
                              f'{(self.num // self.per_node + 1) * self.per_node}, or say --per-node')
        if self.offload and not self.is_sharded:
            raise ConfigError(f'--offload belongs to fsdp2 and hybrid, not to {self.strategy}')
        if self.num % self.shards:
            raise ConfigError(f'strategy.shard_size: {self.shards} does not divide {self.num} GPUs')

    @property
    def is_sharded(self) -> bool:
        """Whether parameters are divided."""
        return self.strategy in ('fsdp2', 'hybrid')

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return max(1, self.num // self.per_node)

    @property
    def shards(self) -> int:
        """GPUs that share one copy of the model."""
        if not self.is_sharded:
            return 1
        return self.shard_size or (min(self.num, self.per_node) if self.strategy == 'hybrid' else self.num)


@dataclass(frozen=True)
class Run:
    """How a config is run.

    Attributes:
        settings: of the step.
        spread: over GPUs.
        accumulate: batches of an update.
    """

    settings: Settings
    spread: Spread
    accumulate: int = 1
