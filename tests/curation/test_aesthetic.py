"""Scores of beauty by heads on CLIP and SigLIP; the models here are tiny and random."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from sapiens2.curation.stages.aesthetic import Aesthetic, linear_head

transformers = pytest.importorskip('transformers')
TEXT = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, vocab_size=50,
            max_position_embeddings=8, bos_token_id=1, eos_token_id=2)
VISION = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=32,
              patch_size=16)
WIDTHS = {'clip': 12, 'clip of images': 12, 'siglip': 32, 'siglip of images': 32}


@pytest.fixture
def backbone(tmp_path):
    """Stores a model of a kind."""
    def make(kind):
        torch.manual_seed(0)
        folder = tmp_path / kind.replace(' ', '-')
        clip = kind.startswith('clip')
        if kind == 'clip':
            model = transformers.CLIPModel(transformers.CLIPConfig(
                text_config=TEXT, vision_config={**VISION, 'projection_dim': 12}, projection_dim=12))
        elif clip:
            model = transformers.CLIPVisionModelWithProjection(
                transformers.CLIPVisionConfig(**VISION, projection_dim=12))
        elif kind == 'siglip':
            model = transformers.SiglipModel(transformers.SiglipConfig(text_config=TEXT, vision_config=VISION))
        else:
            model = transformers.SiglipVisionModel(transformers.SiglipVisionConfig(**VISION))
        model.save_pretrained(folder)
        processor = transformers.CLIPImageProcessor(size={'shortest_edge': 32}, crop_size={'height': 32, 'width': 32}) \
            if clip else transformers.SiglipImageProcessor(size={'height': 32, 'width': 32})
        processor.save_pretrained(folder)
        return folder, model.eval(), processor
    return make


def head(width):
    """As LAION's and V2.5 are: linear layers with dropout between them."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(width, 8), nn.Dropout(0.2), nn.Linear(8, 4), nn.Dropout(0.2), nn.Linear(4, 1)).eval()


def records():
    rng = np.random.default_rng(0)
    return [{'index': number, 'name': 'made', 'picture': rng.integers(0, 256, (50 + number, 40, 3), dtype=np.uint8)}
            for number in range(3)]


@pytest.mark.parametrize('kind', WIDTHS)
@pytest.mark.parametrize('ending', ['pth', 'safetensors'])
def test_scores_are_those_of_the_parts(backbone, tmp_path, kind, ending):
    folder, model, processor = backbone(kind)
    layers = head(WIDTHS[kind])
    state = {f'layers.{name}': value for name, value in layers.state_dict().items()}
    path = tmp_path / f'head.{ending}'
    save_file(state, path) if ending == 'safetensors' else torch.save(state, path)
    stage, found = Aesthetic(folder, path), records()
    stage.setup()
    stage.run(found)
    rgb = [np.ascontiguousarray(one['picture'][..., ::-1]) for one in found]
    pixels = processor(images=rgb, return_tensors='pt')['pixel_values']
    with torch.no_grad():
        if kind == 'clip':
            features = model.visual_projection(model.vision_model(pixel_values=pixels).pooler_output)
        elif kind == 'clip of images':
            features = model(pixel_values=pixels).image_embeds
        else:
            features = (model.vision_model if kind == 'siglip' else model)(pixel_values=pixels).pooler_output
        expected = layers(features / features.norm(dim=-1, keepdim=True))[:, 0]
    assert [one['aesthetic'] for one in found] == pytest.approx(expected.tolist(), abs=1e-5)
    assert len({round(one['aesthetic'], 6) for one in found}) == 3


def test_a_single_layer_and_activations(tmp_path):
    single = linear_head(nn.Linear(12, 1).state_dict(), tmp_path / 'linear.pth')
    assert len(single) == 1 and single[0].in_features == 12
    layers = linear_head(head(12).state_dict(), tmp_path / 'head.pth', 'relu')
    assert [type(layer).__name__ for layer in layers] == ['Linear', 'ReLU', 'Linear', 'ReLU', 'Linear']


@pytest.mark.parametrize('state', [
    nn.Linear(12, 2).state_dict(), {}, {'layers.0.weight': torch.zeros(1, 3, 3, 3), 'layers.0.bias': torch.zeros(1)},
    {**head(12).state_dict(), 'logit_scale': torch.zeros(())}])
def test_what_is_no_head_is_refused(state, tmp_path):
    with pytest.raises(ValueError, match='other.pth: holds no linear layers'):
        linear_head(state, tmp_path / 'other.pth')


def test_what_cannot_work_is_named(backbone, tmp_path):
    folder, *_ = backbone('clip of images')
    torch.save(head(13).state_dict(), tmp_path / 'other.pth')
    with pytest.raises(ValueError, match='is for 13 features'):
        Aesthetic(folder, tmp_path / 'other.pth').setup()
    with pytest.raises(ValueError, match='no such file'):
        Aesthetic(folder, tmp_path / 'none.pth').setup()
    with pytest.raises(ValueError, match='nobody/nothing: no such model'):
        Aesthetic('nobody/nothing', tmp_path / 'other.pth').setup()
    with pytest.raises(ValueError, match="Did you mean 'relu'"):
        Aesthetic(folder, tmp_path / 'other.pth', 'rel')
