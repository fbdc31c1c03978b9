"""Pictures of pretraining: what the network is given, what of it is hidden, and what it makes of that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.runner import Runner
from torch import Tensor

from sapiens2.engine.hooks.sample_pictures import SamplePicturesHook
from sapiens2.models.pretrainers.mae import visible_mask
from sapiens2.registry import HOOKS
from sapiens2.structures.names import sample_name
from sapiens2.visualization.layout import contact_sheet

HIDDEN = 127  # grey level of what the network does not see


@HOOKS.register_module()
class ReconstructionPicturesHook(SamplePicturesHook):
    """Draws the first global crop of the first samples of a batch: as it is, masked, and reconstructed.

    Without a masked autoencoder it draws the global crops alone. When, where to and the arguments are those of
    ``SamplePicturesHook``. Hidden pixels get the mean and contrast of the true ones of their token, which the network
    is not asked for.
    """

    def draw(self, runner: Runner, batch: Mapping[str, Any], title: str) -> np.ndarray:
        """A BGR sheet with one row a sample."""
        model = runner.bare_model
        samples = batch['data_samples'][:self.samples]
        inputs = {name: value[:self.samples] for name, value in batch['inputs'].items()}
        crops = inputs['global_crops']
        columns: dict[str, Tensor] = {'crop': crops[:, 0]}
        if model.mae is None:
            columns.update({f'crop {index + 1}': crops[:, index] for index in range(1, crops.shape[1])})
        else:
            inputs = {name: value[:, :1] for name, value in inputs.items() if name in ('global_crops', 'visible')}
            model.eval()
            prepared = model.data_preprocessor(dict(inputs=inputs))['inputs']
            pictures = model.reconstruct(prepared)
            columns['masked'] = hide(crops[:, 0], inputs['visible'][:, 0], model.mae.token_size)
            columns['reconstruction'] = model.data_preprocessor.denormalise(pictures).cpu()
        tiles = []
        for index, sample in enumerate(samples):
            for name, images in columns.items():
                caption = Path(sample_name(sample, index)).name if name == 'crop' else name
                tiles.append((caption, np.ascontiguousarray(images[index].permute(1, 2, 0).cpu().numpy())))
        return contact_sheet(tiles, columns=len(columns), tile=self.tile, title=title)


def hide(images: Tensor, visible: Tensor, token_size: int) -> Tensor:
    """Images (B, 3, H, W), uint8, with all but the tokens ``visible`` (B, n) in grey."""
    batch, _, height, width = images.shape
    rows, columns = height // token_size, width // token_size
    is_visible = visible_mask(visible.cpu(), rows * columns).view(batch, 1, rows, columns)
    is_visible = is_visible.repeat_interleave(token_size, 2).repeat_interleave(token_size, 3)
    return torch.where(is_visible.to(images.device), images, torch.full_like(images, HIDDEN))
