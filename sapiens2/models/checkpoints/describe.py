"""Tells from names and shapes of parameters which backbone and decoder they belong to, and which config fits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from mmengine.config import Config

from sapiens2.models.backbones.sapiens import ARCHS as SAPIENS_ARCHS
from sapiens2.models.backbones.sapiens2 import ARCHS as SAPIENS2_ARCHS
from sapiens2.models.checkpoints.head_widths import default_widths, head_widths
from sapiens2.utils.paths import configs_dir
from sapiens2.utils.tasks import HEAD_OF_TASK

# Last layer of a decoder, and the task it belongs to.
LAST_LAYERS = {'conv_pose': 'pose', 'conv_seg': 'seg', 'conv_normal': 'normal', 'conv_albedo': 'albedo',
               'conv_pointmap': 'pointmap', 'conv_matting': 'matting'}

Shapes = Mapping[str, torch.Size]


@dataclass(frozen=True)
class Description:
    """What parameters belong to.

    Attributes:
        type: name of the backbone class, None if unknown.
        arch: widths, as the ``arch`` argument of the backbone takes them; {} if unknown.
        arch_name: name of the arch in the backbone's table, None if it has none.
        use_tokenizer: whether the 4K tokenizer is there.
        task: task of the decoder, None for a bare backbone.
        outputs: channels of the decoder's last layer.
        head: arguments of this project's head that the decoder's shapes imply; {} where it has no such head.
    """

    type: Optional[str]
    arch: dict[str, int]
    arch_name: Optional[str]
    use_tokenizer: bool = False
    task: Optional[str] = None
    outputs: Optional[int] = None
    head: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.type is None:
            return 'no backbone of this project'
        tokenizer = ' with the 4K tokenizer' if self.use_tokenizer else ''
        text = f'a {self.type} backbone, {self.arch_name or f"arch={self.arch}"}{tokenizer}'
        return f'{text}, and a decoder for {self.task} with {self.outputs} outputs' if self.task else text

    def config(self) -> dict[str, Any]:
        """The part of a model config that fits these parameters."""
        backbone: dict[str, Any] = dict(type=self.type, arch=self.arch_name or self.arch)
        if self.use_tokenizer:
            backbone['use_tokenizer'] = True
        model: dict[str, Any] = dict(backbone=backbone)
        if self.task in HEAD_OF_TASK:
            defaults = default_widths(self.task)
            model['decode_head'] = dict(type=HEAD_OF_TASK[self.task], **{
                name: value for name, value in self.head.items() if value != defaults[name]})
        return model

    def leaves(self) -> list[str]:
        """Config files of this project that fit, where its configs are at hand."""
        if self.type != 'Sapiens2' or self.arch_name is None:
            return []
        try:
            configs = configs_dir()
        except FileNotFoundError:
            return []
        size = self.arch_name.partition('_')[2] + ('-4k' if self.use_tokenizer else '')
        files = sorted((configs / (self.task or 'pretrain')).glob(f'sapiens2-{size}_*.py'))
        return [str(file) for file in files if not self.head or self._fits(Config.fromfile(file))]

    def _fits(self, cfg: Config) -> bool:
        """Whether the decoder of a config has these widths."""
        widths = {**default_widths(self.task), **cfg.model.decode_head}
        return all(tuple(widths[name]) == value if isinstance(value, tuple) else widths[name] == value
                   for name, value in self.head.items())


def describe(shapes: Shapes) -> Description:
    """What the parameters with these names and shapes belong to. The backbone may stand below 'backbone.' or alone."""
    backbone = {name.removeprefix('backbone.'): shape for name, shape in shapes.items()}
    task, outputs = _task(shapes)
    head = head_widths(shapes, task) if task in HEAD_OF_TASK and f'decode_head.conv_{task}.weight' in shapes else {}
    for kind, widths in (('Sapiens2', _sapiens2(backbone)), ('Sapiens', _sapiens(backbone))):
        if widths:
            table = SAPIENS2_ARCHS if kind == 'Sapiens2' else SAPIENS_ARCHS
            name = next((name for name, arch in table.items() if _agrees(arch, widths)), None)
            use_tokenizer = 'tokenizer.w_cls' in backbone
            if kind == 'Sapiens2' and not use_tokenizer:
                widths = {**widths, 'num_tokenizer_layers': table[name]['num_tokenizer_layers'] if name else 1}
            return Description(kind, widths, name, use_tokenizer, task, outputs, head)
    return Description(None, {}, None, task=task, outputs=outputs, head=head)


def _agrees(arch: Mapping[str, int], widths: Mapping[str, int]) -> bool:
    return all(arch[key] == value for key, value in widths.items() if value)


def _task(shapes: Shapes) -> tuple[Optional[str], Optional[int]]:
    for name, shape in shapes.items():
        parts = name.split('.')
        if len(parts) >= 2 and parts[-2] in LAST_LAYERS and parts[-1] == 'weight':
            return LAST_LAYERS[parts[-2]], shape[0]
    return None, None


def _depth(shapes: Shapes, pattern: str) -> int:
    """One more than the largest number that ``pattern`` finds at the start of the names."""
    return max((int(found[1]) + 1 for found in (re.match(pattern, name) for name in shapes) if found), default=0)


def _sapiens2(shapes: Shapes) -> dict[str, int]:
    try:
        dim, hidden = shapes['blocks.0.ffn.w3.weight']
        head_dim = shapes['blocks.0.attn.q_norm.weight'][0]
    except KeyError:
        return {}
    widths = dict(embed_dims=dim, num_layers=_depth(shapes, r'blocks\.(\d+)\.'), num_heads=dim // head_dim,
                  feedforward_channels=hidden)
    layers = _depth(shapes, r'tokenizer\.blocks\.(\d+)\.')
    return {**widths, 'num_tokenizer_layers': layers} if layers else widths


def _sapiens(shapes: Shapes) -> dict[str, int]:
    """Widths of a v1 backbone. The number of heads leaves no trace in the shapes; it is taken from the known archs."""
    try:
        dim, hidden = shapes['layers.0.ffn.layers.1.weight']
    except KeyError:
        return {}
    heads = next((arch['num_heads'] for arch in SAPIENS_ARCHS.values() if arch['embed_dims'] == dim), dim // 64)
    return dict(embed_dims=dim, num_layers=_depth(shapes, r'layers\.(\d+)\.'), num_heads=heads,
                feedforward_channels=hidden)


def pos_embed_grid(tokens: int) -> tuple[int, int]:
    """Rows and columns of the patches of a v1 position embedding of so many of them.

    v1 was pretrained on square images and fine-tuned on images of 4:3 (H:W); the grid nearest to one of these is taken.
    """
    side = math.isqrt(tokens)
    if side * side == tokens:
        return side, side
    divisors = [columns for columns in range(1, tokens + 1) if tokens % columns == 0]
    columns = min(divisors, key=lambda columns: abs(math.log(tokens / columns**2 / (4 / 3))))
    return tokens // columns, columns
