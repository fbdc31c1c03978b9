"""Which modules of a model are gathered and released on their own.

Rules, not names of models: they fit backbones, decoders, teachers and branches of pretraining alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from sapiens2.models.heads.base_head import BaseHead
from sapiens2.models.layers import WindowTokenizer

BLOCK_LISTS = ('blocks', 'layers')
# Methods besides ``forward`` that use parameters of the module they belong to.
OTHER_METHODS = ('reconstruct',)


def blocks(module: nn.Module) -> Iterator[nn.Module]:
    """Transformer blocks in ``module``, in order: the members of lists called so.

    The blocks of the 4K tokenizer are left out: it runs them once for each chunk of windows, and gathering them each
    time would take longer than running them.
    """
    for name, child in module.named_children():
        if isinstance(child, WindowTokenizer):
            continue
        if name in BLOCK_LISTS and isinstance(child, (nn.ModuleList, nn.Sequential)):
            yield from child
        else:
            yield from blocks(child)


def stages(module: nn.Module) -> Iterator[nn.Module]:
    """Stages of the decoders in ``module``, and 4K tokenizers, in order."""
    for child in module.children():
        if isinstance(child, WindowTokenizer):
            yield child
        elif isinstance(module, BaseHead) and isinstance(child, nn.Sequential):
            yield from (stage for stage in child if isinstance(stage, nn.Sequential))
            yield child
        else:
            yield from stages(child)


def units(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The part of ``model`` that a unit belongs to (the name of a child of ``model``), and the unit; inner ones first.

    Blocks and stages come first, then what is left of each part, then what is left of the model, whose part is ''.
    """
    for part, child in model.named_children():
        for module in (*blocks(child), *stages(child), child):
            if any(True for _ in module.parameters()) and not isinstance(module, nn.ModuleList):
                yield part, module
    yield '', model
