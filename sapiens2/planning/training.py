"""One step of the training that a config describes, as the training loop does it: with tensors, or without content."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional

import torch
from mmengine.config import Config
from mmengine.logging import MMLogger
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sapiens2.engine.fine_tuning import FrozenBackbone, LoRA
from sapiens2.engine.strategies.units import blocks
from sapiens2.planning.batches import make_batch
from sapiens2.registry import FINE_TUNING, MODELS, OPTIM_WRAPPER_CONSTRUCTORS
from sapiens2.utils.config import ConfigError

HALF_WRAPPERS = ('BFloat16OptimWrapper', 'AmpOptimWrapper')


@dataclass(frozen=True)
class Settings:
    """What a plan may change of a config.

    Attributes:
        batch: samples of a forward pass.
        recompute: the activations of every n-th block, 1 for all, 0 for none; None: as the model's ``with_cp`` says.
        half: the forward pass is in bfloat16: under autocast, or with parameters that are.
        gathered_half: parameters are bfloat16 when they are used, as under ``FSDP2``; then the config alone says
            whether there is autocast, too.
        optimizer: type in place of the config's.
        fine_tuning: likewise, 'LoRA' or 'FrozenBackbone'.
    """

    batch: int
    recompute: Optional[int] = None
    half: bool = False
    gathered_half: bool = False
    optimizer: Optional[str] = None
    fine_tuning: Optional[str] = None


def build_model(cfg: Config, settings: Settings) -> nn.Module:
    """The model, with what ``fine_tuning`` changes in it, in training mode.

    Raises:
        ConfigError: if the config has no model or no optimizer.
    """
    for key in ('model', 'optim_wrapper'):
        if not cfg.get(key):
            raise ConfigError(f'the config has no {key}: a plan needs one that can be trained, such as those of '
                              'configs/seg')
    with _quiet():
        model = MODELS.build(cfg.model)
        tuning = _fine_tuning(cfg, settings)
        if tuning is not None:
            tuning.prepare(model)
    model.train()
    if settings.recompute is not None:
        recompute_every(model, settings.recompute)
    return model


class Training:
    """Optimizer and a batch for a model, ready for steps.

    Args:
        cfg: config of a run.
        settings: of the plan.
        model: of ``build_model``.

    Raises:
        ConfigError: if a batch cannot be made for the model.
    """

    def __init__(self, cfg: Config, settings: Settings, model: nn.Module) -> None:
        self.model = model
        with _quiet():
            self.wrapper = _wrapper(cfg, settings, model)
        self.batch = make_batch(cfg, model, settings.batch)
        if hasattr(model, 'set_progress'):
            model.set_progress(1, 2)
            if model.contrastive is not None:
                # It looks for neighbours in the batches of all processes, which are not here; it takes no memory.
                model.contrastive.koleo_weight = 0.0

    @property
    def trained(self) -> list[nn.Parameter]:
        """Parameters that are trained."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def start_optimizer(self) -> None:
        """Let the optimizer make its state."""
        for parameter in self.trained:
            parameter.grad = torch.zeros_like(parameter)
        self.wrapper.optimizer.step()
        self.wrapper.zero_grad()

    def state(self) -> list[Tensor]:
        """Tensors of the optimizer's state."""
        return [value for values in self.wrapper.optimizer.state.values() for value in values.values()
                if isinstance(value, Tensor)]

    def step(self, backward: Callable[[], None] = lambda: None, update: Callable[[], None] = lambda: None) -> None:
        """One update; ``backward`` and ``update`` are called when those phases begin."""
        go_back = self.wrapper.backward

        def watched(loss: Tensor, **kwargs: Any) -> None:
            backward()
            go_back(loss, **kwargs)
            update()

        self.wrapper.backward = watched
        try:
            with _quiet():
                self.model.train_step(self.batch, self.wrapper)
        finally:
            del self.wrapper.backward
        if hasattr(self.model, 'update_teacher'):
            self.model.update_teacher()


def is_half(cfg: Config) -> bool:
    """Whether a config trains under autocast."""
    return cfg.get('optim_wrapper', {}).get('type') in HALF_WRAPPERS


def recompute_every(model: nn.Module, every: int) -> None:
    """Recompute every n-th block, as ``FSDP2`` does; 0 for none."""
    for module in model.modules():
        if hasattr(module, 'with_cp'):
            module.with_cp = False
    for number, block in enumerate(blocks(model)):
        if every and number % every == 0 and any(parameter.requires_grad for parameter in block.parameters()):
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)


def gather_half(model: nn.Module, full_precision: tuple[str, ...] = ('contrastive',)) -> None:
    """Use parameters in bfloat16, as ``FSDP2`` gathers them."""
    for name, child in model.named_children():
        if name not in full_precision:
            for parameter in child.parameters():
                parameter.data = parameter.data.to(torch.bfloat16)
            if hasattr(child, 'get_layer_depth'):
                child.register_forward_pre_hook(_cast)


def _cast(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.to(torch.bfloat16) if isinstance(value, Tensor) and value.is_floating_point() else value
                 for value in args)


def _fine_tuning(cfg: Config, settings: Settings) -> Any:
    if settings.fine_tuning is not None:
        return {'LoRA': LoRA, 'FrozenBackbone': FrozenBackbone}[settings.fine_tuning]()
    return FINE_TUNING.build(cfg.fine_tuning) if cfg.get('fine_tuning') else None


def _wrapper(cfg: Config, settings: Settings, model: nn.Module) -> Any:
    options = dict(cfg.optim_wrapper)
    optimizer = dict(options['optimizer'])
    if settings.optimizer is not None:
        optimizer = dict(type=settings.optimizer, **{key: optimizer[key] for key in ('lr', 'weight_decay')
                                                     if key in optimizer})
    if optimizer['type'] == 'AdamW8bit':  # its kernels take no tensors without content
        optimizer = dict(optimizer, type='AdamW')
    has_autocast = settings.half and (is_half(cfg) or not settings.gathered_half)
    options.update(dict(type='BFloat16OptimWrapper', emulate=True) if has_autocast else dict(type='OptimWrapper'),
                   optimizer=optimizer, accumulative_counts=1)
    constructor = options.pop('constructor', 'DefaultOptimWrapperConstructor')
    paramwise = options.pop('paramwise_cfg', None)
    for key in ('loss_scale', 'dtype', 'use_fsdp'):  # of AmpOptimWrapper
        options.pop(key, None)
    wrapper = OPTIM_WRAPPER_CONSTRUCTORS.build(
        dict(type=constructor, paramwise_cfg=paramwise, optim_wrapper_cfg=options))(model)
    wrapper.initialize_count_status(model, 0, 2)
    return wrapper


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without remarks in the log on what is built."""
    logger = MMLogger.get_current_instance()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
