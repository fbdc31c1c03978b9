"""Pictures of patch features: their main directions as colours, and how alike patches of different people are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

# Shares of the values that become darkest and brightest.
_RANGE = (0.02, 0.98)
_HEAT = 0.6


@dataclass(frozen=True)
class Mark:
    """A patch to look for: what it shows, and its place in the grid."""

    name: str
    row: int
    column: int


def principal_directions(tokens: Tensor, count: int = 3) -> tuple[Tensor, Tensor]:
    """Mean (C,) and the first principal directions (C, count) of (N, C) tokens; signs are fixed."""
    mean = tokens.mean(0)
    centred = tokens - mean
    directions = torch.linalg.eigh(centred.T @ centred).eigenvectors[:, -count:].flip(1)
    if directions.shape[1] < count:
        directions = F.pad(directions, (0, count - directions.shape[1]))
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    return mean, directions * largest.sign()


def as_colours(components: Tensor, low: Tensor, high: Tensor) -> np.ndarray:
    """(h, w, 3) components between ``low`` and ``high`` (3,) as a BGR picture of h x w pixels."""
    unit = ((components - low) / (high - low).clamp(min=1e-12)).clamp(0, 1)
    return np.ascontiguousarray((255 * unit).round().to(torch.uint8).numpy()[..., ::-1])


def pca_pictures(patches: Sequence[Tensor], inside: Sequence[tuple[slice, slice]], size: tuple[int, int],
                 together: bool) -> list[np.ndarray]:
    """First three principal components of the patch tokens as red, green and blue; borders count for nothing.

    Args:
        patches: (h, w, C) of each picture.
        inside: rows and columns of those that are no border, which is black in the results.
        size: (H, W) of the results, pixels.
        together: one set of directions for all pictures, so that a colour means the same in all; or one for each.
    """
    found = []
    inner = [part[place] for part, place in zip(patches, inside)]
    common = _colouring(torch.cat([part.flatten(0, 1) for part in inner])) if together else None
    for part, place in zip(inner, inside):
        mean, directions, low, high = common or _colouring(part.flatten(0, 1))
        small = np.zeros((*patches[len(found)].shape[:2], 3), np.uint8)
        small[place] = as_colours((part - mean) @ directions, low, high)
        found.append(cv2.resize(small, size[::-1], interpolation=cv2.INTER_NEAREST))
    return found


def _colouring(tokens: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    mean, directions = principal_directions(tokens)
    components = ((tokens - mean) @ directions).sort(0).values
    low, high = (components[round(share * (len(components) - 1))] for share in _RANGE)
    return mean, directions, low, high


def similarity_maps(patches: Sequence[Tensor], source: int, mark: Mark) -> list[Tensor]:
    """Cosine (h, w) of each picture's patches with the marked one of the picture ``source``."""
    wanted = F.normalize(patches[source][mark.row, mark.column], dim=0)
    return [F.normalize(part, dim=-1) @ wanted for part in patches]


def heat_pictures(images: Sequence[np.ndarray], maps: Sequence[Tensor], source: int, mark: Mark) -> list[np.ndarray]:
    """Each (H, W, 3) BGR picture under its map, blue to red from the least to the most alike patch of all of them.

    The marked patch has a white frame, and so has the patch most like it in every other picture.
    """
    low = min(float(part.min()) for part in maps)
    high = max(float(part.max()) for number, part in enumerate(maps) if number != source or len(maps) == 1)
    drawn = []
    for number, (image, part) in enumerate(zip(images, maps)):
        level = ((part - low) / max(high - low, 1e-12)).clamp(0, 1)
        small = cv2.applyColorMap((255 * level).round().to(torch.uint8).numpy(), cv2.COLORMAP_TURBO)
        heat = cv2.resize(small, image.shape[1::-1], interpolation=cv2.INTER_NEAREST)
        picture = cv2.addWeighted(heat, _HEAT, image, 1 - _HEAT, 0)
        row, column = (mark.row, mark.column) if number == source else divmod(int(part.argmax()), part.shape[1])
        drawn.append(_framed(picture, row, column, part.shape))
    return drawn


def _framed(picture: np.ndarray, row: int, column: int, grid: Sequence[int]) -> np.ndarray:
    """``picture`` with a frame round a patch, in place."""
    height, width = picture.shape[0] / grid[0], picture.shape[1] / grid[1]
    first = round(column * width), round(row * height)
    last = round((column + 1) * width) - 1, round((row + 1) * height) - 1
    thick = max(1, round(min(height, width) / 8))
    cv2.rectangle(picture, first, last, (0, 0, 0), thick + 2)
    return cv2.rectangle(picture, first, last, (255, 255, 255), thick)
