"""Asks a LLaVA model about a picture, in the words of its training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
from mmengine.config import ConfigDict
from torch import Tensor
from transformers import GenerationConfig, PreTrainedTokenizerBase
from xtuner.dataset.map_fns.template_map_fn import template_map_fn
from xtuner.dataset.utils import encode_fn
from xtuner.model import LLaVAModel
from xtuner.model.utils import prepare_inputs_labels_for_multimodal
from xtuner.utils import DEFAULT_IMAGE_TOKEN

from projects.xtuner_llava.image_processor import Picture, Sapiens2ImageProcessor


class Dialogue:
    """Questions and answers about one picture; each question follows on those before it.

    Args:
        model: in evaluation mode.
        tokenizer, processor, template: those of its training.
        picture: see ``Sapiens2ImageProcessor.preprocess``.
        max_new_tokens: longest answer.
        generation: more settings of transformers' ``GenerationConfig``. Default: the likeliest token each time.
    """

    def __init__(self, model: LLaVAModel, tokenizer: PreTrainedTokenizerBase, processor: Sapiens2ImageProcessor,
                 template: ConfigDict, picture: Picture, max_new_tokens: int = 128,
                 generation: Optional[dict[str, Any]] = None) -> None:
        self.model, self.tokenizer, self.template = model, tokenizer, template
        self.generation = GenerationConfig(
            max_new_tokens=max_new_tokens, eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id,
            **{'do_sample': False, **(generation or {})})
        self.stop_words = list(template.get('STOP_WORDS', []))
        self.turns: list[tuple[str, str]] = []
        pixels = processor.preprocess(picture, return_tensors='pt')['pixel_values']
        self.tokens = encode_pictures(model, pixels)

    @torch.inference_mode()
    def ask(self, question: str) -> str:
        """The answer."""
        ids = self._prompt(question).to(self.tokens.device)
        inputs = prepare_inputs_labels_for_multimodal(llm=self.model.llm, input_ids=ids, pixel_values=self.tokens)
        found = self.model.llm.generate(**inputs, generation_config=self.generation, tokenizer=self.tokenizer,
                                        stop_strings=self.stop_words or None)
        answer = self.tokenizer.decode(found[0], skip_special_tokens=True)
        for word in self.stop_words:
            answer = answer.removesuffix(word)
        self.turns.append((question, answer.strip()))
        return answer.strip()

    def _prompt(self, question: str) -> Tensor:
        """(1, n) tokens of all that has been said and of the question, by the code that made them in training."""
        spoken = [{'input': text, 'output': answer} for text, answer in (*self.turns, (question, ''))]
        spoken[0]['input'] = f'{DEFAULT_IMAGE_TOKEN}\n{spoken[0]["input"]}'
        spoken = template_map_fn({'conversation': spoken}, self.template)['conversation']
        spoken[-1].update(output='', need_eos_token=False, sep='')
        encoded = encode_fn({'conversation': spoken}, self.tokenizer, max_length=self.tokenizer.model_max_length,
                            with_image_token=True)
        return torch.tensor([encoded['input_ids']])


@torch.inference_mode()
def encode_pictures(model: LLaVAModel, pixels: Tensor) -> Tensor:
    """(B, 3, H, W) pictures to (B, h * w, C) tokens of the language model."""
    encoder = model.visual_encoder
    pixels = pixels.to(next(encoder.parameters()).device, encoder.dtype)
    states = encoder(pixels, output_hidden_states=True).hidden_states[model.visual_select_layer]
    return model.projector(states[:, 1:])


def ask_all(dialogue: Dialogue, questions: Sequence[str]) -> str:
    """Questions and answers as lines of text."""
    return '\n'.join(f'{question}\n  {dialogue.ask(question)}' for question in questions)
