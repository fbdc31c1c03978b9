"""Reading and checking of configurations: every name and argument is checked before anything is built.

MMEngine finds a wrong argument only when it builds the component that has it, an unknown entry of ``default_hooks`` at
the first iteration, and a misspelt top-level key never. Here one walk over the whole configuration finds them all,
names the entry the way ``--cfg-options`` writes it (``model.backbone.arch``), and offers the nearest known names.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Optional, Union

from mmengine.config import Config
from mmengine.runner import Runner

from sapiens2.registry import register_all
from sapiens2.utils.config_names import entry_faults, looks_like
from sapiens2.utils.config_values import dictionary_faults, value_faults
from sapiens2.utils.paths import configs_dir
from sapiens2.utils.run_config import RunConfig
from sapiens2.utils.suggest import nearest, unknown_name

# Top-level entries that the runner reads from its configuration rather than from its arguments.
EXTRA_KEYS = ('model_wrapper_cfg', 'sync_bn', 'find_unused_parameters', 'activation_checkpointing', 'compile',
              'efficient_conv_bn_eval', 'custom_imports', 'runner_type', 'fine_tuning', 'strategy')
RUNNER_KEYS = frozenset(inspect.signature(Runner.__init__).parameters) - {'self', 'cfg'} | frozenset(EXTRA_KEYS)


class ConfigError(ValueError):
    """A configuration, option or path that cannot work; the message names the entry and the remedy."""


def load_config(path: Union[str, Path], options: Optional[Mapping[str, Any]] = None,
                keys: Collection[str] = RUNNER_KEYS) -> RunConfig:
    """Read a configuration file, apply ``--cfg-options`` and check the result.

    Args:
        path: of the file.
        options: entry -> value.
        keys: top-level entries that mean something to the program that reads the file.

    Raises:
        ConfigError: if the file is missing (near file names are offered) or cannot be read, or if an entry is unknown.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f'config file {str(path)!r} does not exist.{_near_files(path)}')
    try:
        cfg = RunConfig.read(path)
    except Exception as error:  # a configuration is a program: it may raise anything
        raise ConfigError(f'config file {str(path)!r} cannot be read: {type(error).__name__}: {error}') from error
    apply_options(cfg, options or {}, keys)
    check_config(cfg, keys)
    return cfg


def _near_files(path: Path) -> str:
    """Files with names like that of ``path``, in its folder and below it, or else anywhere in the configs."""
    folder = path.parent if path.parent.is_dir() else configs_dir()
    found = {file.name: file for file in folder.rglob('*.py')}
    close = nearest(path.name, found)
    return ' Did you mean ' + ' or '.join(repr(str(found[name])) for name in close) + '?' if close else ''


def apply_options(cfg: Config, options: Mapping[str, Any], keys: Collection[str] = RUNNER_KEYS) -> None:
    """Apply ``--cfg-options`` in place.

    An option whose first part is an entry of the runner (``model.backbone.arch``) replaces that value. An option that
    is a variable of the file (``data_root``) also replaces every entry of that name which holds the variable's value,
    since the file has copied the variable there.

    Raises:
        ConfigError: if the option names neither, or a list position that does not exist.
    """
    for key, value in options.items():
        first = key.split('.')[0]
        if first not in keys:
            if first not in cfg:
                raise ConfigError('--cfg-options ' + unknown_name(first, {*keys, *cfg}, 'config entry'))
            if key != first or not _replace(cfg._cfg_dict, key, cfg[key], value):
                raise ConfigError(f'--cfg-options {key}: {first!r} is a variable of the config file, and the entries '
                                  'made from it do not follow it; name the entry itself '
                                  "(for instance 'train_dataloader.dataset.pipeline.0.type')")
        try:
            cfg.merge_from_dict({key: value})
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ConfigError(f'--cfg-options {key}={value!r} does not fit the config: {error}') from error


def _replace(node: Any, name: str, old: Any, new: Any, depth: int = 0) -> int:
    """Set entries below the top level that are called ``name`` and hold ``old`` to ``new``; return their number."""
    if isinstance(node, dict):
        count = sum(_replace(value, name, old, new, depth + 1) for value in node.values())
        if depth and name in node and node[name] == old:
            node[name] = new
            count += 1
        return count
    return sum(_replace(value, name, old, new, depth + 1) for value in node) if isinstance(node, (list, tuple)) else 0


def check_config(cfg: Mapping[str, Any], keys: Collection[str] = RUNNER_KEYS) -> None:
    """Check the names of all components and of their arguments, the top-level entries, and values that cannot work.

    Raises:
        ConfigError: lists every fault, one a line, each with its entry and the nearest known names.
    """
    register_all()
    misshapen = dictionary_faults(cfg)
    faults = [*_top_level_faults(cfg, keys), *misshapen.values(), *value_faults(cfg)]
    for key in set(keys).intersection(cfg).difference(misshapen):
        faults += entry_faults(key, cfg[key])
    if faults:
        raise ConfigError('\n'.join(sorted(faults)))


def _top_level_faults(cfg: Mapping[str, Any], keys: Collection[str]) -> Iterator[str]:
    for key in cfg:
        if key not in keys and looks_like(key, keys):
            yield f'{key}: ' + unknown_name(key, keys, 'config entry')
