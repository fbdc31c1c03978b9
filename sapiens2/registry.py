"""Every registry of sapiens2: children of MMEngine's roots, filled from ``locations`` on first use."""

from __future__ import annotations

from typing import Any, Optional

from mmengine import registry as root

from sapiens2.utils.suggest import UnknownNameError, unknown_name


class Registry(root.Registry):
    """MMEngine's registry whose look-up of an unknown name raises an error that offers the nearest names."""

    def get(self, key: str) -> Any:
        """Return the class or function registered as ``key`` here, in a parent, or at a dotted path.

        Raises:
            UnknownNameError: if nothing of that name is registered.
        """
        found = super().get(key)
        if found is None:
            raise UnknownNameError(unknown_name(key, self.known_names(), f'component in the {self.name!r} registry'))
        return found

    def __contains__(self, key: str) -> bool:
        return super().get(key) is not None

    def known_names(self) -> list[str]:
        """Names that can be built here, those of the parents included."""
        self.import_from_location()
        names: set[str] = set()
        registry: Optional[root.Registry] = self
        while registry is not None:
            names.update(registry.module_dict)
            registry = registry.parent
        return sorted(names)


def _child(name: str, parent: root.Registry, *locations: str) -> Registry:
    """A registry below ``parent`` in the scope ``sapiens2``, filled from the named sub-packages."""
    return Registry(name, parent=parent, scope='sapiens2', locations=[f'sapiens2.{place}' for place in locations])


# Backbones, heads, losses, estimators, data preprocessors.
MODELS = _child('model', root.MODELS, 'models')
# Initial values of weights; ``Pretrained`` reads every format of checkpoint.
WEIGHT_INITIALIZERS = _child('weight initializer', root.WEIGHT_INITIALIZERS, 'models.checkpoints')
# Data sets.
DATASETS = _child('dataset', root.DATASETS, 'datasets.components')
# Steps of a data pipeline.
TRANSFORMS = _child('transform', root.TRANSFORMS, 'datasets.transforms')
# Orders in which samples are drawn.
DATA_SAMPLERS = _child('data sampler', root.DATA_SAMPLERS, 'datasets.samplers')
# How lists of samples become batches.
FUNCTIONS = _child('function', root.FUNCTIONS, 'datasets.components')
# Encode and decode of one kind of target. MMEngine has no root for them.
CODECS = Registry('codec', scope='sapiens2', locations=['sapiens2.codecs'])
# Metrics over a whole validation set.
METRICS = _child('metric', root.METRICS, 'evaluation')
# Hooks of the runner.
HOOKS = _child('hook', root.HOOKS, 'engine.hooks')
# The runner that tools/train.py and tools/test.py use.
RUNNERS = _child('runner', root.RUNNERS, 'engine')
# Training, validation and test loops.
LOOPS = _child('loop', root.LOOPS, 'engine')
# Optimizers.
OPTIMIZERS = _child('optimizer', root.OPTIMIZERS, 'engine.optimizers')
# What surrounds an optimizer: mixed precision, clipping, accumulation.
OPTIM_WRAPPERS = _child('optimizer wrapper', root.OPTIM_WRAPPERS, 'engine.optimizers')
# How parameters are grouped for the optimizer.
OPTIM_WRAPPER_CONSTRUCTORS = _child(
    'optimizer wrapper constructor', root.OPTIM_WRAPPER_CONSTRUCTORS, 'engine.optimizers')
# How a model is spread over processes.
STRATEGIES = _child('strategy', root.STRATEGIES, 'engine.strategies')
# Which part of a model is trained. MMEngine has no root for them.
FINE_TUNING = Registry('way of fine-tuning', scope='sapiens2', locations=['sapiens2.engine.fine_tuning'])
# Schedules of learning rate and momentum.
PARAM_SCHEDULERS = _child('parameter scheduler', root.PARAM_SCHEDULERS, 'engine')
# Values that change over a run: temperatures, momenta, weights of losses. MMEngine has no root for them.
SCHEDULES = Registry('schedule', scope='sapiens2', locations=['sapiens2.models'])
# Detectors of people. MMEngine has no root for them.
DETECTORS = Registry('detector', scope='sapiens2', locations=['sapiens2.detectors'])
# What measures images while a data set is curated. MMEngine has no roots for these two.
CURATION_STAGES = Registry('curation stage', scope='sapiens2', locations=['sapiens2.curation.stages'])
# What decides which images are kept.
CURATION_FILTERS = Registry('curation filter', scope='sapiens2', locations=['sapiens2.curation.filters'])
# Log formatting.
LOG_PROCESSORS = _child('log processor', root.LOG_PROCESSORS, 'engine')
# Drawing of predictions and ground truth.
VISUALIZERS = _child('visualizer', root.VISUALIZERS, 'visualization')
# Where drawings and scalars go.
VISBACKENDS = _child('visualizer backend', root.VISBACKENDS, 'visualization')


def register_all() -> None:
    """Make ``sapiens2`` MMEngine's default scope in this process; components load on first look-up."""
    root.init_default_scope('sapiens2')


def build_from(registry: Registry, cfg: Any, **defaults: Any) -> Any:
    """Build ``cfg``, with ``defaults`` for what it leaves out, unless it is an object already."""
    return registry.build({**defaults, **cfg}) if isinstance(cfg, dict) else cfg
