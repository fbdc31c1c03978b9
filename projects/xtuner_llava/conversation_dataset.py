"""Conversations about pictures, as XTuner's LLaVA is trained on them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import ConfigDict
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase
from xtuner.dataset.map_fns import llava_map_fn
from xtuner.dataset.map_fns.template_map_fn import template_map_fn
from xtuner.dataset.utils import encode_fn
from xtuner.registry import BUILDER

from projects.xtuner_llava.image_processor import Sapiens2ImageProcessor
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json


def encode_record(record: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase, template: ConfigDict,
                  max_length: int) -> dict[str, list[int]]:
    """``input_ids`` and ``labels`` of a conversation, by XTuner's own functions; only answers have labels."""
    spoken = template_map_fn(llava_map_fn(copy.deepcopy(dict(record))), template)
    return encode_fn(spoken, tokenizer, max_length, with_image_token=True)


class ConversationDataset(Dataset):
    """One sample a conversation: ``input_ids``, ``labels`` and ``pixel_values`` (3, H, W).

    Differs from XTuner's ``LLaVADataset``: text becomes tokens when a sample is asked for, not before in 32 processes;
    pictures are read upright, and errors name them; each conversation has a picture. XTuner's data set takes the same
    files and the same image processor, where one is wanted that holds text alone, too.

    Args:
        data_path: JSON of ``make_conversations``, or any in LLaVA's format.
        image_folder: what its paths are relative to.
        tokenizer, image_processor: objects, or configs of them.
        template: prompt template of XTuner.
        max_length: longest text, tokens; what is longer is cut.

    Raises:
        DataError: naming the file, and the record that lacks something.
    """

    def __init__(self, data_path: str, image_folder: str, tokenizer: PreTrainedTokenizerBase | dict,
                 image_processor: Sapiens2ImageProcessor | dict, template: ConfigDict, max_length: int) -> None:
        self.records = read_json(data_path)
        if not isinstance(self.records, list) or not self.records:
            raise DataError(f'{data_path}: it must be a list of conversations; make one with make_conversations')
        for number, record in enumerate(self.records):
            for name in ('image', 'conversations'):
                if not isinstance(record, dict) or not record.get(name):
                    raise DataError(f'{data_path}: record {number} lacks {name!r}')
        self.image_folder, self.template, self.max_length = Path(image_folder), template, max_length
        self.tokenizer = BUILDER.build(tokenizer) if isinstance(tokenizer, dict) else tokenizer
        self.image_processor = BUILDER.build(image_processor) if isinstance(image_processor, dict) else image_processor

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Read a sample.

        Raises:
            ImageReadError: naming the file.
        """
        record = self.records[index]
        pixels = self.image_processor.preprocess(self.image_folder / record['image'])['pixel_values'][0]
        return {**self._encoded(record), 'pixel_values': pixels}

    def _encoded(self, record: Mapping[str, Any]) -> dict[str, list[int]]:
        return encode_record(record, self.tokenizer, self.template, self.max_length)

    @property
    def modality_length(self) -> list[int]:
        """Tokens of text of each conversation, for XTuner's ``LengthGroupedSampler``."""
        return [len(self._encoded(record)['input_ids']) for record in self.records]
