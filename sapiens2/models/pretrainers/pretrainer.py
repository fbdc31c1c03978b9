"""Pretraining of Sapiens2 (arXiv 2604.21681): masked reconstruction and contrastive learning in one objective.

The loss is ``mae_weight * L_MAE + contrastive_weight * L_CL``. Weights and program of the authors' pretraining are not
public; what is known of it is in ``docs/en/user_guides/pretrain.md``, and what is chosen here is said there, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Optional, Union

import torch
from mmengine.model import BaseModel
from torch import Tensor, nn

from sapiens2.models.backbones.base import VisionTransformer
from sapiens2.models.pretrainers.branch_gradients import BranchGradients
from sapiens2.models.pretrainers.schedules import Schedule, build_schedule, check_range, known_progress
from sapiens2.registry import MODELS, build_from
from sapiens2.structures import DataSample
from sapiens2.utils.suggest import UnknownNameError, unknown_name

Config = dict[str, Any]
MODES = ('tensor', 'loss')
REDUCTION_4K = 2  # pixels of a picture of 4K along a side of one that is reconstructed


@MODELS.register_module()
class Sapiens2Pretrainer(BaseModel):
    """A backbone, its teacher, and the branches that train it. Either branch may be left out.

    Work is shared: with a masked autoencoder the student sees the global crops once, masked, and the class tokens of
    that pass are what the contrastive branch is given of them; without one it sees them whole. It sees the local crops
    once. The teacher, a running average of the student, sees the whole global crops once, without a backward pass.

    Args:
        backbone: a ``Sapiens2``, or a ``Sapiens`` with class token for ``contrastive`` alone; ``out_type`` is 'raw'.
            The last of its ``out_indices`` is trained.
        mae: a ``MAEBranch``; its ``in_channels``, ``num_prefix_tokens``, ``token_size`` and ``shrink`` may be left out.
        contrastive: a ``ContrastiveBranch``; its ``embed_dims`` may be left out.
        mae_weight: factor of the loss of ``mae``: a number, or a schedule (``build_schedule``).
        contrastive_weight: factor of the losses of ``contrastive``, likewise.
        data_preprocessor: default: ``PretrainDataPreprocessor``.
        init_cfg: initial values, as in MMEngine.

    Raises:
        ValueError: without any branch, or for a backbone that gives no raw tokens, cannot leave tokens out (``mae``) or
            has no class token (``contrastive``).
    """

    def __init__(self,
                 backbone: Union[Config, nn.Module],
                 mae: Union[Config, nn.Module, None] = None,
                 contrastive: Union[Config, nn.Module, None] = None,
                 mae_weight: Union[float, Config] = 1.0,
                 contrastive_weight: Union[float, Config] = 1.0,
                 data_preprocessor: Union[Config, nn.Module, None] = None,
                 init_cfg: Optional[Config] = None) -> None:
        super().__init__(build_from(MODELS, data_preprocessor or {}, type='PretrainDataPreprocessor'), init_cfg)
        if not mae and not contrastive:
            raise ValueError('the pretrainer needs mae, contrastive or both: with neither there is no loss')
        self.backbone = _build_backbone(backbone)
        if mae and 'visible' not in inspect.signature(self.backbone.forward).parameters:
            raise ValueError(f'backbone: {type(self.backbone).__name__} cannot leave tokens out, as mae asks of it; '
                             'use Sapiens2, or set mae=None')
        if contrastive and not self.backbone.with_cls_token:
            raise ValueError(f'backbone: {type(self.backbone).__name__} has no class token, which contrastive '
                             'compares: set with_cls_token=True, or contrastive=None')
        self.mae = self._build_mae(mae) if mae else None
        self.contrastive = build_from(
            MODELS, contrastive, type='ContrastiveBranch', embed_dims=self.backbone.embed_dims) if contrastive else None
        self.teacher_backbone = self._build_teacher(backbone) if contrastive else None
        self.weights: dict[str, Schedule] = {
            'mae': build_schedule(mae_weight, 'model.mae_weight'),
            'contrastive': build_schedule(contrastive_weight, 'model.contrastive_weight')}
        for branch, schedule in self.weights.items():
            check_range(schedule, f'model.{branch}_weight', 0)
        self.branch_gradients = BranchGradients()
        self._progress: Optional[tuple[int, int]] = None

    def _build_mae(self, mae: Union[Config, nn.Module]) -> nn.Module:
        backbone = self.backbone
        has_windows = backbone.size_multiple > backbone.patch_size
        return build_from(
            MODELS, mae, type='MAEBranch', in_channels=backbone.embed_dims,
            num_prefix_tokens=backbone.num_prefix_tokens, token_size=backbone.size_multiple,
            shrink=REDUCTION_4K if has_windows else 1)

    def _build_teacher(self, backbone: Union[Config, nn.Module]) -> nn.Module:
        """A second backbone that is neither trained nor given what is random in training. It starts as the student."""
        if not isinstance(backbone, dict):
            raise ValueError('backbone must be a configuration, because the teacher is another one like it')
        teacher = MODELS.build({**backbone, 'out_type': 'raw', 'init_cfg': None, 'with_cp': False})
        return teacher.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Sapiens2Pretrainer:
        """Switch the mode; the teacher stays in evaluation mode."""
        super().train(mode)
        if self.teacher_backbone is not None:
            self.teacher_backbone.eval()
        return self

    def set_progress(self, iteration: int, max_iters: int) -> None:
        """Tell the schedules how far the run is: ``iteration`` updates are done of ``max_iters``."""
        self._progress = (iteration, max_iters)
        if self.contrastive is not None:
            self.contrastive.set_progress(iteration, max_iters)

    def start_teacher(self) -> None:
        """Let the teacher begin as the student is now, unless it has been trained in this run or the one before."""
        if self.contrastive is not None:
            self.contrastive.start_teacher(self.teacher_pairs())

    def update_teacher(self) -> None:
        """Take the student into the teacher's average; called after each update of the weights."""
        if self.contrastive is not None:
            self.contrastive.update_teacher(self.teacher_pairs())

    def teacher_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """Student and teacher; the contrastive branch has a pair of heads besides."""
        return [(self.backbone, self.teacher_backbone)]

    def forward(self,
                inputs: dict[str, Tensor],
                data_samples: Optional[Sequence[DataSample]] = None,
                mode: str = 'tensor') -> Any:
        """Run the network.

        Args:
            inputs: of ``PretrainDataPreprocessor``: ``global_crops`` (G * B, 3, H, W), ``local_crops`` (L * B, 3, h, w)
                and ``visible`` (G * B, n), crop by crop: first the first crop of all samples.
            data_samples: B of them; 'loss' needs them.
            mode: 'tensor' gives the student's tokens of the global crops, (G * B, N, C), masked if a masked autoencoder
                is trained; 'loss' losses and other figures by name.

        Raises:
            ValueError: for another mode, or if something is missing.
        """
        if mode not in MODES:
            raise UnknownNameError(unknown_name(mode, MODES, 'mode'))
        if mode == 'tensor':
            return self.encode(inputs)
        if not data_samples or len(inputs['global_crops']) % len(data_samples):
            raise ValueError("mode 'loss' needs the data samples of the crops, as many crops of each")
        return self.loss(inputs, data_samples)

    def encode(self, inputs: dict[str, Tensor]) -> Tensor:
        """The student's tokens (G * B, N, C) of the global crops, of the visible ones if there is a ``mae``."""
        if self.mae is None:
            return self.backbone(inputs['global_crops'])[-1]
        if 'visible' not in inputs:
            raise ValueError("the batch has no 'visible' tokens: add dict(type='RandomTokenMask') to the pipeline, "
                             'with a ratio above 0, or set model.mae=None')
        return self.backbone(inputs['global_crops'], inputs['visible'])[-1]

    def loss(self, inputs: dict[str, Tensor], data_samples: Sequence[DataSample]) -> dict[str, Tensor]:
        """Losses, weighted, and other figures by name."""
        self._check_sizes(inputs, data_samples)
        tokens = self.encode(inputs)
        losses: dict[str, Tensor] = {}
        if self.mae is not None:
            losses['loss_mae'] = self.weight('mae') * self.mae(
                self.branch_gradients.tap('mae', tokens), inputs['global_crops'], inputs['visible'])
        if self.contrastive is not None:
            for name, value in self._contrast(tokens, inputs, len(data_samples)).items():
                losses[name] = self.weight('contrastive') * value if 'loss' in name else value
        return losses

    def weight(self, branch: str) -> float:
        """The factor of a branch's losses now.

        Raises:
            RuntimeError: if ``set_progress`` was never called.
        """
        return self.weights[branch](*known_progress(self._progress))

    def _check_sizes(self, inputs: dict[str, Tensor], data_samples: Sequence[DataSample]) -> None:
        """Crops are made of whole tokens; places that were drawn for tokens of another size would be other places."""
        multiple = self.backbone.size_multiple
        for crops in ('global_crops', 'local_crops'):
            size = tuple(inputs[crops].shape[-2:]) if crops in inputs else (0, 0)
            if size[0] % multiple or size[1] % multiple:
                raise ValueError(f'{crops} of height, width {size} pixels do not fit the backbone, which takes '
                                 f'multiples of {multiple}: set {crops}.size of MultiCrop')
        if self.mae is None:
            return
        size = data_samples[0].get('token_size', self.mae.token_size)
        if size != self.mae.token_size:
            raise ValueError(f'masks of {size} pixels a token do not fit a backbone whose tokens have '
                             f'{self.mae.token_size}: set token_size={self.mae.token_size} of RandomTokenMask')

    def _contrast(self, tokens: Tensor, inputs: dict[str, Tensor], batch: int) -> dict[str, Tensor]:
        """What the contrastive branch makes of the class tokens, and of the visible patches if it is dense."""
        def by_crop(tokens: Tensor) -> Tensor:
            return tokens[:, 0].unflatten(0, (-1, batch))

        def tapped(tokens: Tensor) -> Tensor:
            return self.branch_gradients.tap('contrastive', tokens)

        with torch.no_grad():
            taught = self.teacher_backbone(inputs['global_crops'])[-1]
        local = self.backbone(inputs['local_crops'])[-1] if 'local_crops' in inputs else None
        tokens = tapped(tokens)
        patches: Config = {}
        if getattr(self.contrastive, 'needs_patches', False):
            prefix = self.backbone.num_prefix_tokens
            same = taught[:, prefix:]
            if self.mae is not None:
                same = same.gather(1, inputs['visible'][..., None].expand(-1, -1, same.shape[-1]))
            patches = dict(student_patches=tokens[:, prefix:], teacher_patches=same)
        return self.contrastive(by_crop(tokens), None if local is None else by_crop(tapped(local)), by_crop(taught),
                                **patches)

    @torch.no_grad()
    def reconstruct(self, inputs: dict[str, Tensor]) -> Tensor:
        """Global crops (G * B, 3, H', W'), normalised RGB, with the hidden tokens as the decoder sees them.

        H' and W' are those of the crops, half as much with the 4K tokenizer.

        Raises:
            ValueError: without a masked autoencoder.
        """
        if self.mae is None:
            raise ValueError('a model without mae reconstructs nothing')
        return self.mae.reconstruct(self.encode(inputs), inputs['global_crops'], inputs['visible'])


def _build_backbone(config: Union[Config, nn.Module]) -> VisionTransformer:
    """The student, if it gives all tokens."""
    kind = MODELS.get(config['type']) if isinstance(config, dict) else type(config)
    if kind is not None and not issubclass(kind, VisionTransformer):
        raise ValueError(f'backbone: {kind.__name__} gives maps, and pretraining needs all tokens; use Sapiens2')
    backbone = build_from(MODELS, config, out_type='raw')
    if backbone.out_type != 'raw':
        raise ValueError(f'backbone: pretraining needs all tokens; leave out_type={backbone.out_type!r} out')
    return backbone
