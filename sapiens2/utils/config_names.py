"""The names in a configuration: every component and every argument, looked up where they are defined."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

from mmengine.registry import EVALUATOR, MODEL_WRAPPERS, WEIGHT_INITIALIZERS
from mmengine.registry import Registry as RootRegistry
from mmengine.runner import Runner
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.data import DataLoader

from sapiens2.registry import (CODECS, CURATION_FILTERS, CURATION_STAGES, DATA_SAMPLERS, DATASETS, DETECTORS,
                               FINE_TUNING, FUNCTIONS, HOOKS, LOG_PROCESSORS, LOOPS, METRICS, MODELS,
                               OPTIM_WRAPPER_CONSTRUCTORS, OPTIM_WRAPPERS, OPTIMIZERS, PARAM_SCHEDULERS, SCHEDULES,
                               STRATEGIES, TRANSFORMS, VISBACKENDS, VISUALIZERS, Registry)
from sapiens2.utils.suggest import unknown_name

# Where the component of an entry is looked up; entries below it use the same registry unless named here themselves.
REGISTRY_OF_KEY: dict[str, RootRegistry] = {
    'model': MODELS, 'data_preprocessor': MODELS, 'model_wrapper_cfg': MODEL_WRAPPERS, 'init_cfg': WEIGHT_INITIALIZERS,
    'dataset': DATASETS, 'datasets': DATASETS, 'pipeline': TRANSFORMS, 'codec': CODECS, 'encoder': CODECS,
    'sampler': DATA_SAMPLERS, 'batch_sampler': DATA_SAMPLERS, 'collate_fn': FUNCTIONS, 'worker_init_fn': FUNCTIONS,
    'train_cfg': LOOPS, 'val_cfg': LOOPS, 'test_cfg': LOOPS,
    'optim_wrapper': OPTIM_WRAPPERS, 'optimizer': OPTIMIZERS, 'param_scheduler': PARAM_SCHEDULERS,
    'fine_tuning': FINE_TUNING, 'strategy': STRATEGIES,
    **dict.fromkeys(('schedule', 'mae_weight', 'contrastive_weight', 'teacher_temp', 'momentum'), SCHEDULES),
    'val_evaluator': METRICS, 'test_evaluator': METRICS, 'metrics': METRICS,
    'default_hooks': HOOKS, 'custom_hooks': HOOKS, 'log_processor': LOG_PROCESSORS,
    'visualizer': VISUALIZERS, 'vis_backends': VISBACKENDS,
    'source': DATASETS, 'stages': CURATION_STAGES, 'filters': CURATION_FILTERS, 'detector': DETECTORS,
}
DEFAULT_TYPE = {'val_cfg': 'ValLoop', 'test_cfg': 'TestLoop', 'optim_wrapper': 'OptimWrapper',
                'log_processor': 'LogProcessor', 'visualizer': 'Visualizer',
                'model_wrapper_cfg': 'MMDistributedDataParallel'}
LOADER_KEYS = frozenset(inspect.signature(DataLoader.__init__).parameters) - {'self'} | {
    'num_batch_per_epoch', 'disable_subprocess_warning'}
HOOK_NAMES = ('runtime_info', 'timer', 'sampler_seed', 'logger', 'param_scheduler', 'checkpoint')
# Keys of a component's dictionary that its builder takes away.
BUILDER_KEYS: dict[RootRegistry, frozenset[str]] = {
    HOOKS: frozenset({'priority'}), OPTIM_WRAPPERS: frozenset({'constructor', 'paramwise_cfg', 'optimizer'}),
    PARAM_SCHEDULERS: frozenset({'convert_to_iter_based'})}
ENV_KEYS = ('cudnn_benchmark', 'mp_cfg', 'dist_cfg', 'resource_limit')


def looks_like(name: str, known: Iterable[str]) -> bool:
    """Whether ``name`` can only be a misspelling of a known one. A variable of a config file may be called anything."""
    return bool(difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.85))


def entry_faults(key: str, value: Any) -> Iterator[str]:
    """Faults of one top-level entry."""
    if key.endswith('_dataloader') and isinstance(value, Mapping):
        yield from _unknown_keys(value, LOADER_KEYS, key, 'data loader argument')
        yield from _walk_values(value, key, DATASETS)
    elif key == 'default_hooks':
        for name, hook in value.items():
            if isinstance(hook, Mapping) and 'type' not in hook:
                yield f'{key}.{name} has no type. ' + unknown_name(name, HOOK_NAMES, 'default hook')
            else:
                yield from _walk(hook, f'{key}.{name}', HOOKS)
    elif key == 'randomness':
        yield from _unknown_keys(value, inspect.signature(Runner.set_randomness).parameters, key, 'argument')
    elif key == 'env_cfg':
        yield from _unknown_keys(value, ENV_KEYS, key, 'argument')
    elif key in REGISTRY_OF_KEY and value is not None:
        yield from _walk(_with_default_type(key, value), key, REGISTRY_OF_KEY[key])


def _with_default_type(key: str, value: Any) -> Any:
    """The entry with the type that MMEngine takes where none is written."""
    if not isinstance(value, Mapping) or 'type' in value:
        return value
    if key == 'train_cfg':
        by_epoch = value.get('by_epoch', False)
        rest = {name: item for name, item in value.items() if name != 'by_epoch'}
        return {'type': 'EpochBasedTrainLoop' if by_epoch else 'IterBasedTrainLoop', **rest}
    return {'type': DEFAULT_TYPE[key], **value} if key in DEFAULT_TYPE else value


def _unknown_keys(given: Mapping[str, Any], known: Iterable[str], path: str, what: str) -> Iterator[str]:
    for name in given:
        if name not in known:
            yield f'{path}.{name}: ' + unknown_name(name, known, what)


def _walk(node: Any, path: str, registry: RootRegistry) -> Iterator[str]:
    """Faults of ``node`` and of all that is below it."""
    if isinstance(node, Mapping):
        if 'type' in node:
            yield from _component_faults(node, path, registry)
        yield from _walk_values(node, path, registry)
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for index, item in enumerate(node):
            yield from _walk(item, f'{path}.{index}', registry)


def _walk_values(node: Mapping[str, Any], path: str, registry: RootRegistry) -> Iterator[str]:
    for key, value in node.items():
        # A model's ``test_cfg`` is a plain dictionary; only at the top level does it describe a loop.
        below = registry if registry is MODELS and key.endswith('_cfg') and key != 'init_cfg' \
            else REGISTRY_OF_KEY.get(key, registry)
        yield from _walk(value, f'{path}.{key}', below)


def _component_faults(node: Mapping[str, Any], path: str, registry: RootRegistry) -> Iterator[str]:
    """Faults of one dictionary with a ``type``: the name and the names of the arguments."""
    component = node['type']
    if isinstance(component, str):
        if registry is METRICS and component == 'Evaluator':
            registry = EVALUATOR
        component = _look_up(component, registry)
        if component is None:
            yield f'{path}.type: ' + unknown_name(node['type'], _known_names(registry), registry.name)
            return
    if not callable(component):
        yield f'{path}.type must be a name or a class, got {component!r}'
        return
    if registry is OPTIM_WRAPPERS:
        yield from _optim_wrapper_faults(node, path)
    given = set(node) - {'type', '_scope_'} - BUILDER_KEYS.get(registry, frozenset())
    known, is_open = argument_names(component)
    for name in sorted(given - known):
        if not is_open or looks_like(name, known):
            yield f'{path}.{name}: ' + unknown_name(name, known, f'argument of {component.__name__}')


def _look_up(name: str, registry: RootRegistry) -> Optional[Callable]:
    """The component called ``name``, or None. MMEngine's own registries raise for some unknown names."""
    try:
        return registry.get(name)
    except (KeyError, RuntimeError):
        return None


def _known_names(registry: RootRegistry) -> list[str]:
    return registry.known_names() if isinstance(registry, Registry) else sorted(registry.module_dict)


def _optim_wrapper_faults(node: Mapping[str, Any], path: str) -> Iterator[str]:
    """Faults of what an optimizer wrapper's builder reads: constructor, parameter-wise options, gradient clipping."""
    clip = node.get('clip_grad')
    if clip is not None:
        function = clip_grad_value_ if clip.get('type') == 'value' else clip_grad_norm_
        known = set(inspect.signature(function).parameters) - {'parameters'} | {'type'}
        yield from _unknown_keys(clip, known, f'{path}.clip_grad', f'argument of {function.__name__}')
    constructor = node.get('constructor')
    if isinstance(constructor, str):
        name, constructor = constructor, _look_up(constructor, OPTIM_WRAPPER_CONSTRUCTORS)
        if constructor is None:
            yield f'{path}.constructor: ' + unknown_name(
                name, _known_names(OPTIM_WRAPPER_CONSTRUCTORS), OPTIM_WRAPPER_CONSTRUCTORS.name)
            return
    known = getattr(constructor, 'paramwise_keys', None)
    if known is not None:
        given = node.get('paramwise_cfg') or {}
        yield from _unknown_keys(given, known, f'{path}.paramwise_cfg', 'parameter-wise option')


def argument_names(component: Union[type, Callable]) -> tuple[set[str], bool]:
    """Names that ``component`` takes by keyword, those passed on to base classes included.

    Returns:
        The names, and whether others are taken as well because ``**kwargs`` does not end in a base class; a class whose
        ``**kwargs`` go to something else says so by ``passes_arguments_on = True``.
    """
    if not inspect.isclass(component):
        return _signature_names(component)
    names: set[str] = set()
    for base in component.__mro__:
        if base in (nn.Module, object) or '__init__' not in base.__dict__:
            if base is nn.Module:
                return names, False
            continue
        own, is_open = _signature_names(base.__init__)
        names |= own - {'self'}
        if is_open and base.__dict__.get('passes_arguments_on'):
            return names, True
        if not is_open:
            return names, False
    return names, bool(names)


def _signature_names(function: Callable) -> tuple[set[str], bool]:
    """Names taken by keyword, and whether there is a ``**kwargs``."""
    parameters = inspect.signature(function).parameters.values()
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)
