"""Building blocks in plain torch: no registry, no MMEngine."""

from sapiens2.models.layers.attention import LayerScale, SelfAttention
from sapiens2.models.layers.block import TransformerBlock
from sapiens2.models.layers.drop_path import DropPath
from sapiens2.models.layers.ffn import SwiGLU
from sapiens2.models.layers.patch_embed import PatchEmbed, check_image_size, image_cells
from sapiens2.models.layers.rope import RotaryEmbedding2D, apply_rotary
from sapiens2.models.layers.tokenizer import WindowTokenizer

__all__ = [
    'DropPath', 'LayerScale', 'PatchEmbed', 'RotaryEmbedding2D', 'SelfAttention', 'SwiGLU', 'TransformerBlock',
    'WindowTokenizer', 'apply_rotary', 'check_image_size', 'image_cells'
]
