"""A trained model with all that is needed to ask it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from mmengine.config import Config, ConfigDict
from transformers import PreTrainedTokenizerBase
from xtuner.model import LLaVAModel
from xtuner.registry import BUILDER

from projects.xtuner_llava.dialogue import Dialogue
from projects.xtuner_llava.image_processor import Picture, Sapiens2ImageProcessor
from sapiens2.models.checkpoints import CheckpointError, load_pickle
from sapiens2.utils.first_few import first_few


@dataclass(frozen=True)
class Speaker:
    """A LLaVA model in evaluation mode, and how it reads pictures and text."""

    model: LLaVAModel
    tokenizer: PreTrainedTokenizerBase
    processor: Sapiens2ImageProcessor
    template: ConfigDict
    config: Config

    def dialogue(self, picture: Picture, max_new_tokens: int = 128) -> Dialogue:
        """A dialogue about ``picture``."""
        return Dialogue(self.model, self.tokenizer, self.processor, self.template, picture, max_new_tokens)


def load_speaker(config: str, checkpoint: str, device: str = 'auto') -> Speaker:
    """Build the model of a config and fill it from a checkpoint of its training.

    A checkpoint holds what was trained; the rest comes from where the config takes it.

    Args:
        device: 'auto' is 'cuda' where there is a GPU, else 'cpu'.

    Raises:
        FileNotFoundError: if there is no such file.
        CheckpointError: if the checkpoint is damaged, or of another model.
    """
    cfg = Config.fromfile(config)
    state = load_pickle(Path(checkpoint), mmap=False)
    if not isinstance(state, dict) or 'state_dict' not in state:
        raise CheckpointError(f'{checkpoint} holds no state_dict: name a checkpoint that `xtuner train` has written')
    cfg.model.pretrained_pth = None
    model = BUILDER.build(cfg.model)
    found, wanted = set(state['state_dict']), set(model.state_dict())
    if found != wanted:
        lines = [*(f'not in the checkpoint: {name}' for name in sorted(wanted - found)),
                 *(f'not in the model: {name}' for name in sorted(found - wanted))]
        raise CheckpointError('\n'.join([f'{checkpoint} is of another model than {config}; name the config that it was '
                                         'trained with:', *first_few(lines)]))
    model.load_state_dict(state['state_dict'], strict=False)
    model.llm.config.use_cache = True
    chosen = ('cuda' if torch.cuda.is_available() else 'cpu') if device == 'auto' else device
    return Speaker(model.to(chosen).eval(), BUILDER.build(cfg.tokenizer), BUILDER.build(cfg.image_processor),
                   cfg.prompt_template, cfg)
