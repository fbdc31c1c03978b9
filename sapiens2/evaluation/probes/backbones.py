"""Which backbone is meant, and any of them as one function from pictures to tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sapiens2.models.backbones.base import VisionTransformer
from sapiens2.models.backbones.sapiens import ARCHS as SAPIENS_ARCHS
from sapiens2.models.backbones.sapiens2 import ARCHS as SAPIENS2_ARCHS
from sapiens2.models.checkpoints import BadCheckpointFile, build_model, open_checkpoint
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.models.checkpoints.describe import describe
from sapiens2.models.checkpoints.source import load_state
from sapiens2.models.data_preprocessors.sapiens_data_preprocessor import MEAN, STD
from sapiens2.registry import MODELS, register_all
from sapiens2.utils.config import ConfigError, load_config
from sapiens2.utils.devices import pick_device, pick_dtype
from sapiens2.utils.suggest import UnknownNameError, unknown_name

PIXELS, TIMM = 'pixels', 'timm/'
# (H, W) where neither the user nor the weights say what size the backbone is for.
_SIZE = (1024, 768)
_PIXEL_PATCH = 16
_FAMILY = 'sapiens2_'


@dataclass(frozen=True)
class BackboneSpec:
    """A backbone that is not built yet.

    Attributes:
        label: its name in tables and pictures.
        config: of the registry MODELS; None for ``PIXELS``.
        weights: checkpoint, 'random', or None for those that timm has.
    """

    label: str
    config: Optional[dict[str, Any]]
    weights: Optional[str]

    def untrained(self) -> BackboneSpec:
        """The same with random weights."""
        return replace(self, label=f'random ({self.label})', weights=RANDOM)


def parse_backbone(text: str) -> BackboneSpec:
    """What ``text`` means: ``[LABEL=]WHAT[@WEIGHTS]``.

    WHAT is a checkpoint, whose architecture is read off its parameters; a config file; the name of an architecture
    ('sapiens2_0.1b' or '0.1b', 'sapiens_1b'); timm/NAME; or 'pixels', which are no network. WEIGHTS is a checkpoint or
    'random'.

    Raises:
        UnknownNameError: if it is none of these.
        ValueError: if weights are missing.
        BadCheckpointFile: if a checkpoint holds no backbone of this project.
    """
    register_all()
    label, separator, rest = text.partition('=')
    if not separator or Path(text).exists():
        label, rest = '', text
    if Path(rest).exists() and not rest.endswith('.py'):
        return BackboneSpec(label or _short(rest), _config_of_checkpoint(rest), rest)
    what, separator, weights = rest.rpartition('@')
    if not separator:
        what, weights = rest, ''
    label = label or (f'{_short(what)}@{_short(weights)}' if weights else _short(what))
    if what == PIXELS:
        return BackboneSpec(label, None, RANDOM)
    if what.startswith(TIMM):
        return BackboneSpec(label, dict(type='TimmBackbone', model_name=what.removeprefix(TIMM)), weights or None)
    return BackboneSpec(label, _config_of_name(what), _checked_weights(text, weights))


def _short(path: str) -> str:
    return path if path.startswith(TIMM) else Path(path).name.removesuffix('.py')


def _checked_weights(text: str, weights: str) -> str:
    if not weights:
        raise ValueError(f'{text}: no weights. Write {text}@FILE, or {text}@{RANDOM} for an untrained network')
    if weights != RANDOM and not Path(weights).exists():
        raise FileNotFoundError(f'{text}: there is no checkpoint {weights}')
    return weights


def full_name(name: str) -> str:
    """The full name of an architecture; 'tiny' stands for 'sapiens2_tiny', and other names for themselves."""
    return _FAMILY + name if _FAMILY + name in SAPIENS2_ARCHS else name


def _config_of_name(what: str) -> dict[str, Any]:
    if what.endswith('.py'):
        backbone = load_config(what).get('model', {}).get('backbone')
        if backbone is None:
            raise ConfigError(f'{what}: it has no model.backbone')
        return backbone.to_dict()
    what = full_name(what)
    if what in SAPIENS2_ARCHS:
        return dict(type='Sapiens2', arch=what)
    if what in SAPIENS_ARCHS:
        return dict(type='Sapiens', arch=what, with_cls_token=True)
    short = [name.removeprefix(_FAMILY) for name in SAPIENS2_ARCHS]
    raise UnknownNameError(unknown_name(what, [*SAPIENS2_ARCHS, *short, *SAPIENS_ARCHS, PIXELS], 'backbone')
                           + ' Or give a checkpoint, a config (.py) or timm/NAME.')


def _config_of_checkpoint(path: str) -> dict[str, Any]:
    state, origin = open_checkpoint(path)
    described = describe({name: tensor.shape for name, tensor in state.items()})
    if described.type is None:
        raise BadCheckpointFile(Path(path), 'a checkpoint without a backbone of this project',
                                'Name what it belongs to: CONFIG.py@FILE or timm/NAME@FILE.')
    config = dict(described.config()['backbone'], img_size=origin.img_size or _SIZE)
    if described.type == 'Sapiens':
        config['with_cls_token'] = any(name.removeprefix('backbone.') == 'cls_token' for name in state)
    return config


@dataclass(frozen=True)
class Tokens:
    """What a backbone says of a batch.

    Attributes:
        cls: (B, C) class token; the mean of the patches where there is none.
        mean: (B, C) mean of the patch tokens.
        patches: (B, h, w, C) patch tokens.
    """

    cls: Tensor
    mean: Tensor
    patches: Tensor


class PixelBackbone(nn.Module):
    """No network: a patch is its own pixels, and the class token a small copy of the picture. What a probe reaches
    without any feature."""

    size_multiple = _PIXEL_PATCH

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, 3, H, W) -> (B, 3 * 16 * 12), (B, 3 * 16 * 16, h, w)."""
        return F.adaptive_avg_pool2d(x, (16, 12)).flatten(1), F.pixel_unshuffle(x, _PIXEL_PATCH)


class FeatureModel:
    """A backbone that is ready to run.

    Attributes:
        label: its name.
        size: (H, W) of its input, pixels.
        has_class_token: whether ``Tokens.cls`` is a class token.
        module, device, dtype: the network and where and how it computes.
    """

    def __init__(self, label: str, module: nn.Module, size: tuple[int, int], device: torch.device, dtype: torch.dtype,
                 mean: Sequence[float] = MEAN, std: Sequence[float] = STD) -> None:
        self.label, self.device, self.dtype = label, device, dtype
        self.module = module.to(device, dtype).eval()
        self.multiple = module.size_multiple if hasattr(module, 'size_multiple') else module.patch_size
        self.size = tuple(max(1, round(side / self.multiple)) * self.multiple for side in size)
        self.mean, self.std = (torch.tensor(values, device=device).view(1, 3, 1, 1) for values in (mean, std))
        self.normalisation = [list(mean), list(std)]
        self.has_class_token = _has_class_token(module)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the patches."""
        return self.size[0] // self.multiple, self.size[1] // self.multiple

    @torch.inference_mode()
    def __call__(self, images: Tensor) -> Tokens:
        """Tokens, float32 on the CPU, of (B, 3, H, W) uint8 BGR pictures of ``size``."""
        x = ((images.to(self.device).flip(1).float() - self.mean) / self.std).to(self.dtype)
        cls, patches = self._tokens(x)
        patches = patches.float()
        mean = patches.mean((1, 2))
        return Tokens((mean if cls is None else cls.float()).cpu(), mean.cpu(), patches.cpu())

    def _tokens(self, x: Tensor) -> tuple[Optional[Tensor], Tensor]:
        if isinstance(self.module, PixelBackbone):
            cls, maps = self.module(x)
            return cls, maps.permute(0, 2, 3, 1)
        if isinstance(self.module, VisionTransformer):
            tokens = self.module(x)[-1]
            patches = tokens[:, self.module.num_prefix_tokens:].unflatten(1, self.grid)
            return tokens[:, 0] if self.has_class_token else None, patches
        maps, prefix = self.module.model.forward_intermediates(
            x, indices=1, norm=True, output_fmt='NCHW', intermediates_only=True, return_prefix_tokens=True)[-1]
        return prefix[:, 0] if self.has_class_token else None, maps.permute(0, 2, 3, 1)

    def fingerprint(self) -> str:
        """Hash of the weights, whatever file they came from."""
        found = hashlib.sha256()
        for name, tensor in sorted(self.module.state_dict().items()):
            found.update(f'{name} {tuple(tensor.shape)} {tensor.dtype}'.encode())
            found.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return found.hexdigest()


def _has_class_token(module: nn.Module) -> bool:
    if isinstance(module, VisionTransformer):
        return module.with_cls_token
    return isinstance(module, PixelBackbone) or getattr(module.model, 'cls_token', None) is not None


def build_backbone(spec: BackboneSpec, size: Optional[tuple[int, int]] = None, device: str = 'auto',
                   dtype: str = 'auto', seed: int = 0) -> FeatureModel:
    """Build the backbone and fill it.

    Args:
        size: (H, W) of its input, pixels, brought to the nearest multiple of its patches; default: what it is made for.
        device, dtype: see ``pick_device`` and ``pick_dtype``.
        seed: of random weights.
    """
    where = pick_device(device)
    number_format = pick_dtype(dtype, where)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if spec.config is None:
            return FeatureModel(spec.label, PixelBackbone(), size or _SIZE, where, torch.float32)
        if spec.config['type'] == 'TimmBackbone':
            return _build_timm(spec, size, where, number_format)
        config = dict(spec.config, out_type='raw', out_indices=-1)
        if size is not None:
            multiple = config.get('patch_size', 16) * (
                config.get('window_size', 4) if config.get('use_tokenizer') else 1)
            config['img_size'] = tuple(max(1, round(side / multiple)) * multiple for side in size)
        module = build_model(config, spec.weights, device, number_format)
    return FeatureModel(spec.label, module, module.img_size, where, number_format)


def _build_timm(spec: BackboneSpec, size: Optional[tuple[int, int]], device: torch.device,
                dtype: torch.dtype) -> FeatureModel:
    config = dict(spec.config, pretrained=spec.weights != RANDOM)
    if spec.weights not in (None, RANDOM):
        # timm itself would read the file with a loader that can be told to run code.
        config['pretrained_cfg_overlay'] = dict(source='', state_dict=load_state(spec.weights)[0])
    module = MODELS.build(config)  # not by build_model, whose initialisation would replace timm's weights
    means = [[255 * value for value in module.model.pretrained_cfg[name]] for name in ('mean', 'std')]
    return FeatureModel(spec.label, module, size or module.img_size, device, dtype, *means)
