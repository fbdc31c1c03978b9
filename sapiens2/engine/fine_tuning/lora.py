"""Low-rank adapters (Hu et al., LoRA, arXiv 2106.09685), put in by peft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Optional

import torch
from mmengine.logging import print_log
from torch import Tensor, nn

from sapiens2.engine.fine_tuning.base import FineTuning
from sapiens2.registry import FINE_TUNING
from sapiens2.utils.suggest import UnknownNameError, unknown_name

BASE = '.base_layer.'
ADAPTER = '.lora_'
# The linear layers of a block of Sapiens2.
TARGETS = ('wq', 'wk', 'wv', 'proj', 'w12', 'w3')


@FINE_TUNING.register_module()
class LoRA(FineTuning):
    """Trains an adapter beside each linear layer of the backbone's blocks, and the whole decoder.

    Checkpoints hold the weights with the adapters added in, under the names of the plain model, so that everything that
    reads a checkpoint reads them; and the adapters themselves, for ``--resume``. The frozen weights are not stored a
    second time: a resumed run takes them from where the run started, and checks them.

    Args:
        rank: of the adapters.
        alpha: what an adapter adds is multiplied by ``alpha / rank``. Default: ``rank``.
        dropout: of what the adapters are given.
        target_modules: last parts of the names of the linear layers that get one.

    Raises:
        ImportError: if peft is not installed.
        ValueError: for a rank below 1 or a dropout outside [0, 1).
        UnknownNameError: for a target that the backbone does not have.
    """

    adds_parameters = True

    def __init__(self, rank: int = 16, alpha: Optional[float] = None, dropout: float = 0.0,
                 target_modules: Sequence[str] = TARGETS) -> None:
        if rank < 1 or not 0 <= dropout < 1:
            raise ValueError(f'fine_tuning: rank of LoRA must be at least 1 and dropout in [0, 1), got {rank} and '
                             f'{dropout}')
        try:
            import peft
        except ImportError as error:
            raise ImportError('fine_tuning: LoRA needs peft: pip install "sapiens2[lora]"') from error
        self._peft = peft
        self.options: dict[str, Any] = dict(
            r=rank, lora_alpha=rank if alpha is None else alpha, lora_dropout=dropout,
            target_modules=list(target_modules))

    def description(self) -> dict[str, Any]:
        return {**super().description(), 'rank': self.options['r'], 'alpha': self.options['lora_alpha'],
                'target_modules': self.options['target_modules']}

    def prepare(self, model: nn.Module) -> None:
        linear = {name.rpartition('.')[2] for name, module in model.backbone.named_modules()
                  if isinstance(module, nn.Linear)}
        for target in self.options['target_modules']:
            if target not in linear:
                raise UnknownNameError('fine_tuning.target_modules: ' + unknown_name(
                    target, linear, f'linear layer of {type(model.backbone).__name__}'))
        self._peft.inject_adapter_in_model(self._peft.LoraConfig(**self.options), model.backbone)
        trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
        total = sum(parameter.numel() for name, parameter in model.named_parameters() if ADAPTER not in name)
        print_log(f'LoRA of rank {self.options["r"]}: {trained:,} parameters are trained, those of the adapters and '
                  f'the decoder; the model has {total:,}.', logger='current')

    def weights_for_use(self, model: nn.Module) -> dict[str, Tensor]:
        state = {name.replace(BASE, '.'): value for name, value in model.state_dict().items() if ADAPTER not in name}
        for name, layer in self._layers(model):
            weight = layer.get_base_layer().weight.detach()
            with torch.no_grad():
                state[f'{name}.weight'] = weight + layer.get_delta_weight('default').to(weight.dtype)
        return state

    def _layers(self, model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        """Linear layers with an adapter, by their names in the plain model."""
        for name, module in model.named_modules():
            if isinstance(module, self._peft.tuners.lora.Linear):
                yield name, module
