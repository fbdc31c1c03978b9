"""The entries of a config for curation."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from mmengine.config import Config

from sapiens2.curation.arguments import Count, NotNegative, check_arguments
from sapiens2.utils.config import ConfigError


@dataclass(frozen=True)
class Settings:
    """What a config says, as JSON has it, so that it can be compared and sent to other processes.

    Attributes:
        source: data set of bare images.
        stages, filters, drop_early: of ``Chain``.
        part_size: images that are scored as a whole, in one file.
        near_duplicates: arguments of ``NearDuplicates``; None keeps all duplicates.
        quality: column by which the best of several duplicates is kept.
        balance: arguments of ``Balance``; None keeps all that are left.
        shard_size: images of a tar file.
        shuffle_seed: of the order in which images are written; None keeps that of the source.
    """

    source: Mapping[str, Any]
    stages: Sequence[Mapping[str, Any]]
    filters: Sequence[Mapping[str, Any]] = ()
    drop_early: bool = True
    part_size: Count = 256
    near_duplicates: Optional[Mapping[str, Any]] = field(default_factory=dict)
    quality: str = 'shorter_side'
    balance: Optional[Mapping[str, Any]] = None
    shard_size: Count = 1000
    shuffle_seed: Optional[NotNegative] = 0

    @classmethod
    def of(cls, cfg: Config) -> Settings:
        """Those of a config, whose other entries are variables of its file.

        Raises:
            ConfigError: naming the entry, if one is missing or of another type.
        """
        entries = {entry.name: plain(cfg.get(entry.name)) for entry in dataclasses.fields(cls) if entry.name in cfg}
        for name in ('source', 'stages'):
            if not entries.get(name):
                raise ConfigError(f'the config has no {name}: give it one as in configs/curation')
        check_arguments('', cls, entries)
        return cls(**entries)


# Entries of a config.
ENTRIES = tuple(entry.name for entry in dataclasses.fields(Settings))


def plain(value: Any) -> Any:
    """A configuration as JSON has it.

    Raises:
        ConfigError: if it holds what JSON has not: a class, for instance.
    """
    try:
        return json.loads(json.dumps(value.to_dict() if isinstance(value, Config) else value))
    except TypeError as error:
        raise ConfigError(f'{error}: write a configuration, such as dict(type=...), in place of an object') from error
