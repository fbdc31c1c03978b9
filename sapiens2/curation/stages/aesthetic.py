"""How much people like pictures, by a head on features of CLIP or SigLIP."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union

import cv2
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from sapiens2.curation.columns import Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.models.checkpoints.pickles import load_pickle
from sapiens2.registry import CURATION_STAGES
from sapiens2.utils.suggest import unknown_name

_LAYER = re.compile(r'(?:^|\.)(\d+)\.weight$')
ACTIVATIONS = {None: nn.Identity, 'relu': nn.ReLU, 'gelu': nn.GELU}


@CURATION_STAGES.register_module()
class Aesthetic(Stage):
    """A score of beauty. It needs weights of yours: there is no default that would be honest without them.

    With CLIP ViT-L/14 and ``sac+logos+ava1-l14-linearMSE.pth`` it is LAION's improved aesthetic predictor, 1 to 10;
    with SigLIP so400m and ``aesthetic_predictor_v2_5.pth`` Aesthetic Predictor V2.5, 1 to 10, where 5.5 is good.

    Args:
        backbone: folder of a CLIP or SigLIP model in transformers' format, or a repository in the local cache.
        head: file (.pth, .pt, .bin or .safetensors) of linear layers that end in one number, as these projects publish.
        activation: between the layers: None, 'relu' or 'gelu'. The files do not say; both above have none.
        device: where it computes.
        batch_size, kwargs: of ``Stage``.
    """

    inputs = ('picture',)
    outputs = {'aesthetic': Column('float32', 'score of beauty by the predictor in the config; those named there give '
                                              '1 to 10')}

    def __init__(self, backbone: Union[str, PathLike[str]], head: Union[str, PathLike[str]],
                 activation: Optional[str] = None, device: str = 'cpu', batch_size: int = 8, **kwargs: Any) -> None:
        super().__init__(batch_size=batch_size, **kwargs)
        if activation not in ACTIVATIONS:
            raise ValueError('Aesthetic.activation: ' + unknown_name(
                str(activation), [name for name in ACTIVATIONS if name], 'activation'))
        self.backbone, self.head_file, self.activation, self.device = str(backbone), Path(head), activation, device
        self._processor: Optional[Any] = None

    def setup(self) -> None:
        """Load both.

        Raises:
            ImportError: if transformers is missing.
            ValueError: if the files are not there, or do not fit each other.
        """
        self._processor, self._model, self._projection = _backbone(self.backbone)
        self._head = linear_head(_state(self.head_file), self.head_file, self.activation)
        width = self._projection.out_features if self._projection else self._model.config.hidden_size
        if self._head[0].in_features != width:
            raise ValueError(f'{self.head_file}: is for {self._head[0].in_features} features, and {self.backbone} '
                             f'gives {width}: take the backbone that the head was trained on')
        for module in (self._model, self._head, self._projection):
            if module is not None:
                module.eval().to(self.device)

    def run(self, records: Sequence[Record]) -> None:
        rgb = [cv2.cvtColor(record['picture'], cv2.COLOR_BGR2RGB) for record in records]
        pixels = self._processor(images=rgb, return_tensors='pt')['pixel_values'].to(self.device)
        with torch.inference_mode():
            features = self._model(pixel_values=pixels).pooler_output
            if self._projection is not None:
                features = self._projection(features)
            scores = self._head(nn.functional.normalize(features.float(), dim=-1))[:, 0]
        for record, score in zip(records, scores.tolist()):
            record['aesthetic'] = score


def _backbone(name: str) -> tuple[Any, nn.Module, Optional[nn.Linear]]:
    """Processor, the part that sees, and CLIP's projection of what it sees to the space of texts."""
    try:
        import transformers
    except ImportError as error:
        raise ImportError('Aesthetic needs transformers: pip install "sapiens2[transformers]"') from error
    classes = {'clip': transformers.CLIPModel, 'clip_vision_model': transformers.CLIPVisionModelWithProjection,
               'siglip': transformers.SiglipModel, 'siglip_vision_model': transformers.SiglipVisionModel}
    try:
        kind = transformers.AutoConfig.from_pretrained(name, local_files_only=True).model_type
        if kind not in classes:
            raise ValueError(f'{name}: is of the kind {kind!r}; Aesthetic takes {", ".join(classes)}')
        processor = transformers.AutoImageProcessor.from_pretrained(name, local_files_only=True)
        model = classes[kind].from_pretrained(name, local_files_only=True, use_safetensors=True)
    except OSError as error:
        raise ValueError(f'{name}: no such model in this folder, nor in the local cache of Hugging Face: '
                         f'{str(error).splitlines()[0]}. Download it first, and give its folder') from error
    return processor, getattr(model, 'vision_model', model), getattr(model, 'visual_projection', None)


def _state(path: Path) -> Mapping[str, Tensor]:
    if not path.is_file():
        raise ValueError(f'{path}: no such file; Aesthetic.head must be the weights of a predictor, which are not '
                         'downloaded')
    return load_file(path) if path.suffix == '.safetensors' else load_pickle(path, mmap=False)


def linear_head(state: Mapping[str, Tensor], path: Path, activation: Optional[str] = None) -> nn.Sequential:
    """Linear layers, in the order of the numbers in their names, that end in one number.

    Raises:
        ValueError: naming ``path``, if the state is anything else.
    """
    numbers = {int(found[1]): name.removesuffix('weight') for name in state if (found := _LAYER.search(name))}
    names = [numbers[number] for number in sorted(numbers)] or ([''] if 'weight' in state else [])
    weights = [state[f'{name}weight'] for name in names]
    known = {f'{name}{part}' for name in names for part in ('weight', 'bias')}
    fits = bool(weights) and all(weight.ndim == 2 for weight in weights) and len(weights[-1]) == 1 and known == set(
        state) and all(len(one) == other.shape[1] for one, other in zip(weights, weights[1:]))
    if not fits:
        shapes = ', '.join(f'{name} {list(getattr(value, "shape", ()))}' for name, value in list(state.items())[:6])
        raise ValueError(f'{path}: holds no linear layers with weights and biases that end in one number, but {shapes}')
    layers: list[nn.Module] = []
    for name, weight in zip(names, weights):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({'weight': weight.float(), 'bias': state[f'{name}bias'].float()})
        layers += [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers[:-1])
