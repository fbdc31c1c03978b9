"""A matting network that cuts people out of pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Optional, Union

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose

from projects.matting.foreground import estimate_foreground
from sapiens2.apis import init_model
from sapiens2.registry import TRANSFORMS, register_all
from sapiens2.utils.config import ConfigError, load_config
from sapiens2.utils.task_models import inference_pipeline

# Whose colours soft edges have.
COLOURS = {
    'estimated': "the picture's without those of its background, estimated around each pixel",
    'predicted': "the network's",
    'source': "the picture's as they are, with some of the old background",
}
# A window is so much larger than the person's box.
_MARGIN = 1.15


class MatteCutter:
    """A matting network, ready to cut people out of pictures.

    Args:
        cfg: a config with a ``MattingHead``, or its file.
        checkpoint: its weights, in any format that ``init_model`` reads.
        device: 'auto', 'cuda', 'mps' or 'cpu'.

    Raises:
        ConfigError: if the config is of another task, or see ``load_config``.
        FileNotFoundError, BadCheckpointFile, CheckpointMismatch: see ``init_model``.
    """

    def __init__(self, cfg: Union[str, Path, Config], checkpoint: Union[str, Path], device: str = 'auto') -> None:
        register_all()
        cfg = cfg if isinstance(cfg, Config) else load_config(cfg)
        head = cfg.get('model', {}).get('decode_head', {}).get('type')
        if head != 'MattingHead':
            raise ConfigError(f'model.decode_head.type is {head}, and only MattingHead cuts out: give a config of '
                              'projects/matting')
        self.model = init_model(cfg, checkpoint, device)
        self.pipeline = Compose([TRANSFORMS.build(step) for step in inference_pipeline(cfg)])
        height, width = cfg.model.backbone.img_size
        self.aspect = width / height

    def __call__(self, image: np.ndarray, colours: str = 'estimated',
                 boxes: Optional[np.ndarray] = None) -> np.ndarray:
        """The cut-out, (H, W, 4) uint8 BGR and opacity; colours are not multiplied by it.

        Args:
            image: (H, W, 3) uint8 BGR.
            colours: whose the soft edges have, see ``COLOURS``; opaque pixels keep those of the picture.
            boxes: (people, 4) x1, y1, x2, y2, pixels: look at each person by itself, and at nothing else. The most
                opaque of what is found at a pixel counts.

        Raises:
            ValueError: if the network gives numbers that are not finite.
        """
        shape = image.shape[:2]
        windows = [np.s_[:, :]] if boxes is None else [window(box, shape, self.aspect) for box in boxes]
        alpha, foreground = self._look(image, windows)
        if colours == 'estimated':
            image = estimate_foreground(image, alpha)
        elif colours == 'predicted':
            image = foreground + alpha[..., None] * (image - foreground)
        return np.dstack([np.rint(image).astype(np.uint8), np.rint(alpha * 255).astype(np.uint8)])

    def _look(self, image: np.ndarray, windows: Sequence[tuple[slice, slice]]) -> tuple[np.ndarray, np.ndarray]:
        """Opacity (H, W), 0 outside the windows, and foreground (H, W, 3) BGR from 0 to 255, both float32."""
        alpha, foreground = np.zeros(image.shape[:2], np.float32), image.astype(np.float32)
        for place in windows:
            packed = self.pipeline({'img': np.ascontiguousarray(image[place]), 'img_path': 'picture in memory'})
            with torch.inference_mode():
                sample, = self.model.test_step({key: [value] for key, value in packed.items()})
            found = sample.pred_fields.alpha[0].cpu().numpy()
            if not np.isfinite(found).all():
                raise ValueError('the network gave opacities that are not finite numbers: check the weights')
            more = found > alpha[place]
            alpha[place][more] = found[more]
            foreground[place][more] = sample.pred_fields.foreground.cpu().numpy()[::-1].transpose(1, 2, 0)[more] * 255
        return alpha, foreground


def window(box: np.ndarray, size: tuple[int, int], aspect: float) -> tuple[slice, slice]:
    """Rows and columns of a person and some of what is around it, as much of them as the picture has.

    Args:
        box: (4,) x1, y1, x2, y2, pixels; it overlaps the picture.
        size: (H, W) of the picture.
        aspect: w / h of the window.
    """
    x1, y1, x2, y2 = (float(value) for value in box)
    height = _MARGIN * max(y2 - y1, (x2 - x1) / aspect)
    return tuple(slice(max(0, math.floor(middle - extent / 2)), min(side, math.ceil(middle + extent / 2)))
                 for middle, extent, side in (((y1 + y2) / 2, height, size[0]),
                                              ((x1 + x2) / 2, height * aspect, size[1])))
