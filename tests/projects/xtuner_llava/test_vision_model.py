"""The encoder gives LLaVA what it expects. Needs transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest.importorskip('transformers', reason='the encoder is a model of transformers')

from projects.xtuner_llava.vision_model import Sapiens2VisionModel  # noqa: E402
from sapiens2.models.checkpoints import CheckpointMismatch, build_model  # noqa: E402
from sapiens2.weights import embedded_weights  # noqa: E402

CHECKPOINT = str(embedded_weights('seg', 'sapiens2_tiny'))


@pytest.fixture
def encoder() -> Sapiens2VisionModel:
    return Sapiens2VisionModel.from_checkpoint(CHECKPOINT, img_size=(64, 48)).eval()


@pytest.fixture
def pixels() -> torch.Tensor:
    return torch.randn(2, 3, 64, 48, generator=torch.Generator().manual_seed(0))


def test_after_one_token_come_the_patches_of_the_backbone(encoder: Sapiens2VisionModel, pixels: torch.Tensor) -> None:
    backbone = build_model(dict(type='Sapiens2', arch='sapiens2_tiny', img_size=(64, 48), out_indices=(-2, -1)),
                           CHECKPOINT, 'cpu').eval()
    with torch.inference_mode():
        states, maps = encoder(pixels, output_hidden_states=True).hidden_states, backbone(pixels)
    assert len(states) == 12 and encoder.config.hidden_size == 192
    for index, featmap in zip((-2, -1), maps):
        torch.testing.assert_close(states[index][:, 1:], featmap.flatten(2).transpose(1, 2))


def test_it_is_saved_and_found_again_with_every_weight(encoder: Sapiens2VisionModel, pixels: torch.Tensor,
                                                       tmp_path: Path) -> None:
    encoder.save_pretrained(tmp_path)
    found = Sapiens2VisionModel.from_pretrained(str(tmp_path)).eval()
    with torch.inference_mode():
        torch.testing.assert_close(found(pixels).last_hidden_state, encoder(pixels).last_hidden_state, rtol=0, atol=0)
    config = (tmp_path / 'config.json')
    config.write_text(config.read_text().replace('sapiens2_tiny', 'sapiens2_micro'))
    with pytest.raises(CheckpointMismatch):
        Sapiens2VisionModel.from_pretrained(str(tmp_path))


def test_checkpointing_gives_the_same_gradients(encoder: Sapiens2VisionModel, pixels: torch.Tensor) -> None:
    def gradients() -> list[torch.Tensor]:
        encoder.zero_grad()
        encoder(pixels).hidden_states[-2].square().mean().backward()
        return [parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None]

    plain = gradients()
    encoder.gradient_checkpointing_enable()
    encoder.enable_input_require_grads()
    torch.testing.assert_close(gradients(), plain)
    assert encoder.backbone.with_cp
    encoder.gradient_checkpointing_disable()
    assert not encoder.backbone.with_cp


def test_a_frozen_encoder_keeps_no_activations(encoder: Sapiens2VisionModel, pixels: torch.Tensor) -> None:
    encoder.requires_grad_(False)
    encoder.enable_input_require_grads()
    assert not encoder(pixels).last_hidden_state.requires_grad


def test_other_backbones_are_refused() -> None:
    with pytest.raises(ValueError, match='Sapiens2'):
        Sapiens2VisionModel.from_checkpoint('pixels')
