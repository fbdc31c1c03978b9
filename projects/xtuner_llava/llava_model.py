"""XTuner's LLaVA, which also runs where there is no GPU."""

from __future__ import annotations

from typing import Any

from transformers import PretrainedConfig
from xtuner.model import LLaVAModel
from xtuner.utils.device import get_device_name


class Sapiens2LLaVAModel(LLaVAModel):
    """``LLaVAModel`` that leaves the attention of the language model alone on a CPU.

    XTuner asks the device for bf16 before it chooses a kind of attention, and ``torch.cpu`` has no answer.
    """

    @staticmethod
    def _prepare_for_flash_attn(cfg: Any, llm_cfg: PretrainedConfig) -> tuple[Any, PretrainedConfig]:
        if get_device_name() == 'cpu':
            return cfg, llm_cfg
        return LLaVAModel._prepare_for_flash_attn(cfg, llm_cfg)
