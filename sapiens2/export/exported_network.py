"""An exported file in place of an estimator's backbone and decoder, with all that comes before and after them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import torch
from mmengine.config import Config
from torch import Tensor, nn

from sapiens2.export.info import exported_config
from sapiens2.export.runtimes import open_file
from sapiens2.models.checkpoints.build import parameters_on_meta
from sapiens2.models.data_preprocessors import SapiensDataPreprocessor
from sapiens2.registry import MODELS, register_all


class ExportedNetwork(nn.Module):
    """The network in an exported file: images to a tuple whose one element is the decoder's raw output.

    It stands where an estimator has its backbone, and the decoder only passes its output on.

    Args:
        path: of the file.
        device: where it computes.
        trust: open files that can run code, see ``ExportFormat.runs_code``.

    Attributes:
        info: what the file says about itself, see ``export_info``.
        arch_name, img_size: as of a backbone.

    Raises:
        FileNotFoundError, ImportError, ValueError: see ``open_file``.
    """

    def __init__(self, path: str | os.PathLike, device: torch.device, trust: bool = False) -> None:
        super().__init__()
        self.path = Path(path)
        self.info, self._run = open_file(self.path, device, trust)
        self.arch_name, self.img_size = self.info['model'], tuple(self.info['img_size'])
        self.with_preprocessing = self.info['input']['dtype'] == 'uint8'
        # Tells an estimator what it takes; on the meta device, because it is equal to no other network's weights.
        self.input_dtype = nn.Parameter(torch.empty(
            0, dtype=torch.uint8 if self.with_preprocessing else torch.float32, device='meta'), requires_grad=False)

    def forward(self, images: Tensor) -> tuple[Any]:
        """(B, 3, H, W) to ((B, ...),), or ((several outputs),) where the decoder has several.

        Raises:
            ValueError: for another size of images.
        """
        if tuple(images.shape[2:]) != self.img_size:
            raise ValueError(f'{self.path}: takes images of (H, W) = {self.img_size}, got {tuple(images.shape[2:])}')
        images = images.to(self.input_dtype.dtype).contiguous()
        outputs = self._in_batches(images) if self.info['batch'] else self._once(images)
        return (outputs if len(outputs) > 1 else outputs[0],)

    def _once(self, images: Tensor) -> tuple[Tensor, ...]:
        outputs = self._run(images)
        return (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)

    def _in_batches(self, images: Tensor) -> tuple[Tensor, ...]:
        """Batches of the one size that the file takes; the last is filled up with its last image."""
        size, parts = self.info['batch'], []
        for part in images.split(size):
            fill = part[-1:].expand(size - len(part), -1, -1, -1)
            parts.append([output[:len(part)] for output in self._once(torch.cat((part, fill)))])
        return tuple(torch.cat(outputs) for outputs in zip(*parts))

    def config(self, task: str, img_size: Optional[tuple[int, int]] = None) -> Config:
        """The config of the network, see ``exported_config``."""
        return exported_config(self.info, task, img_size, self.path)

    def estimator(self, cfg: Optional[Config] = None) -> nn.Module:
        """An estimator that computes by the file.

        Args:
            cfg: its config, for other options of prediction; default: that of the file.
        """
        register_all()
        with parameters_on_meta():
            model = MODELS.build((cfg or self.config(self.info['task'])).model)
        model.backbone = self
        model.decode_head.forward = _only_output
        if self.with_preprocessing:
            model.data_preprocessor = _RawImages()
        return model.eval()


class _RawImages(SapiensDataPreprocessor):
    """Leaves the grey levels to the network."""

    def normalise(self, images: Tensor) -> Tensor:
        """Images (B, 3, H, W) as read to RGB, uint8."""
        if self._channel_conversion:
            images = images.flip(1)
        return images if images.dtype == torch.uint8 else images.round().clamp(0, 255).to(torch.uint8)


def _only_output(feats: Sequence[Any]) -> Any:
    return feats[-1]


def load_exported(path: str | os.PathLike, device: torch.device | str = 'cpu', trust: bool = False) -> nn.Module:
    """An estimator that computes by an exported file; arguments and errors as of ``ExportedNetwork``."""
    return ExportedNetwork(path, torch.device(device), trust).estimator()
