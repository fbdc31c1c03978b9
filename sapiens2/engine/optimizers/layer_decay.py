"""Layer-wise learning-rate decay (Clark et al., ELECTRA, arXiv 2003.10555; Bao et al., BEiT, arXiv 2106.08254).

The learning rate of a parameter is that of the optimizer times ``layer_decay_rate ** (depths - 1 - depth)``: heads and
the backbone's final norm train at the full rate, each block below one factor slower, the patch embedding and the tokens
slowest. The backbone itself says how deep a parameter lies (``get_layer_depth``), so no number of layers is configured.

Weight decay acts on weight matrices and convolution kernels only. Biases, norms, layer scales (all one-dimensional) and
tokens and position embeddings (parameters that are not called ``weight``) are not decayed.
"""

from __future__ import annotations

from typing import Any

from mmengine.logging import print_log
from mmengine.model import is_model_wrapper
from mmengine.optim import DefaultOptimWrapperConstructor, OptimWrapper
from mmengine.registry import OPTIM_WRAPPERS, OPTIMIZERS
from torch import Tensor, nn

from sapiens2.registry import OPTIM_WRAPPER_CONSTRUCTORS
from sapiens2.utils.suggest import UnknownNameError, unknown_name

CUSTOM_KEYS = ('lr_mult', 'decay_mult')


def decays(name: str, parameter: Tensor) -> bool:
    """Whether weight decay acts on a parameter."""
    return name.rsplit('.', 1)[-1] == 'weight' and parameter.ndim > 1


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class LayerDecayOptimWrapperConstructor(DefaultOptimWrapperConstructor):
    """Groups parameters by depth and by whether weight decay acts on them.

    Parameters that need no gradient are left out. Options (``paramwise_cfg``):
        layer_decay_rate: in (0, 1]; 1 trains every layer at the same rate.
        custom_keys: part of a parameter name -> ``dict(lr_mult=..., decay_mult=...)``, factors on top of the rules
            above; of several that fit, the longest counts.

    Raises:
        ValueError: for an unknown option (the nearest is offered), a rate outside (0, 1], an optimizer without ``lr``
            or ``weight_decay``, a custom key that fits no parameter, or a model in which nothing is to be trained.
    """

    paramwise_keys = ('layer_decay_rate', 'custom_keys')

    def _validate_cfg(self) -> None:
        for key in self.paramwise_cfg:
            if key not in self.paramwise_keys:
                raise UnknownNameError('optim_wrapper.paramwise_cfg: '
                                       + unknown_name(key, self.paramwise_keys, 'parameter-wise option'))
        for name, factors in self.paramwise_cfg.get('custom_keys', {}).items():
            for key in factors:
                if key not in CUSTOM_KEYS:
                    raise UnknownNameError(f'optim_wrapper.paramwise_cfg.custom_keys.{name}: '
                                           + unknown_name(key, CUSTOM_KEYS, 'factor'))
        rate = self.paramwise_cfg.get('layer_decay_rate', 1.0)
        if not 0 < rate <= 1:
            raise ValueError(f'optim_wrapper.paramwise_cfg.layer_decay_rate must be in (0, 1], got {rate}')
        if self.base_lr is None or self.base_wd is None:
            raise ValueError('optim_wrapper.optimizer needs lr and weight_decay for layer-wise decay')

    def __call__(self, model: nn.Module) -> OptimWrapper:
        model = model.module if is_model_wrapper(model) else model
        groups = self.group_parameters(model)
        optimizer = OPTIMIZERS.build(dict(self.optimizer_cfg, params=groups))
        return OPTIM_WRAPPERS.build({'type': 'OptimWrapper', **self.optim_wrapper_cfg},
                                    default_args=dict(optimizer=optimizer))

    def group_parameters(self, model: nn.Module) -> list[dict[str, Any]]:
        """Parameter groups, deepest first: name, params, lr, weight_decay.

        ``model.backbone`` says the depth of its parameters; a model without one is asked itself.
        """
        backbone, prefix = (model.backbone, 'backbone.') if hasattr(model, 'backbone') else (model, '')
        if not hasattr(backbone, 'get_layer_depth'):
            raise TypeError(f'{type(backbone).__name__} has no get_layer_depth(name, prefix): layer-wise learning-rate '
                            'decay needs it; take constructor out of optim_wrapper to train every layer alike')
        custom, rate = self.paramwise_cfg.get('custom_keys', {}), self.paramwise_cfg.get('layer_decay_rate', 1.0)
        unused = set(custom)
        groups: dict[tuple[int, bool, str], dict[str, Any]] = {}
        for name, parameter in model.named_parameters():
            custom_key = max((key for key in custom if key in name), key=len, default='')
            unused.discard(custom_key)
            if parameter.requires_grad:
                depth, depths = backbone.get_layer_depth(name, prefix)
                key = (depth, decays(name, parameter), custom_key)
                if key not in groups:
                    groups[key] = self._new_group(*key, rate ** (depths - 1 - depth))
                groups[key]['params'].append(parameter)
        if unused:
            raise ValueError('optim_wrapper.paramwise_cfg.custom_keys: no parameter has '
                             + ', '.join(map(repr, sorted(unused))) + ' in its name')
        if not groups:
            raise ValueError(f'{type(model).__name__} has no parameter that needs a gradient: nothing to train')
        ordered = [groups[key] for key in sorted(groups, reverse=True)]
        rates = [group['lr'] for group in ordered]
        tensors = sum(len(group['params']) for group in ordered)
        print_log(f'{tensors} trained tensors in {len(ordered)} groups, learning rates from {min(rates):.3e} to '
                  f'{max(rates):.3e} before the schedule', logger='current')
        return ordered

    def _new_group(self, depth: int, with_decay: bool, custom_key: str, scale: float) -> dict[str, Any]:
        factors = self.paramwise_cfg['custom_keys'][custom_key] if custom_key else {}
        return {
            'name': f'depth {depth}' + ('' if with_decay else ' without decay') + (custom_key and f' {custom_key}'),
            'params': [],
            'lr': self.base_lr * scale * factors.get('lr_mult', 1.0),
            'weight_decay': self.base_wd * factors.get('decay_mult', 1.0) if with_decay else 0.0,
        }
