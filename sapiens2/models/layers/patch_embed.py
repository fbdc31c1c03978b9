"""Images to patch tokens, and the sizes that work."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sapiens2.models.layers.cpu_float32 import in_float32, needs_float32


class PatchEmbed(nn.Module):
    """(B, 3, H, W) -> (B, C, H / patch, W / patch).

    Args:
        dim: channels C of a token.
        patch_size: pixels along each side of a patch.
        padding: zeros added on each side of the image, in pixels.
    """

    def __init__(self, dim: int, patch_size: int = 16, padding: int = 0) -> None:
        super().__init__()
        self.projection = nn.Conv2d(3, dim, kernel_size=patch_size, stride=patch_size, padding=padding)

    def forward(self, x: Tensor) -> Tensor:
        if needs_float32(x):
            return in_float32(self.projection)(x.float()).to(x.dtype)
        return self.projection(x)


def image_cells(images: Tensor, size: int, places: Tensor) -> Tensor:
    """Some of the squares of ``size`` pixels that images (B, C, H, W) consist of; the others are not read.

    Args:
        places: (B, n) int64, squares of each image, counted row by row.

    Returns:
        (B, n, C, size, size).
    """
    batch, channels, height, width = images.shape
    cells = images.view(batch, channels, height // size, size, width // size, size).permute(0, 2, 4, 1, 3, 5)
    image = torch.arange(batch, device=places.device)[:, None]
    return cells[image, places // (width // size), places % (width // size)]


def check_image_size(height: int, width: int, multiple: int) -> None:
    """Raise unless both sides are positive multiples of ``multiple`` pixels.

    Raises:
        ValueError: naming the nearest sizes (H, W) that would do.
    """
    if height > 0 and width > 0 and height % multiple == 0 and width % multiple == 0:
        return

    def around(side: int) -> list[int]:
        below = side // multiple * multiple
        return [value for value in (below, below + multiple) if value > 0] if side % multiple else [max(side, multiple)]

    sizes = ' or '.join(f'({h}, {w})' for h in around(height) for w in around(width))
    raise ValueError(f'image size (H, W) = ({height}, {width}) is not divisible by {multiple}; '
                     f'resize or pad the image to {sizes}')
