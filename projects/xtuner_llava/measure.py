"""Measures a trained model on conversations it has not seen: ``python -m projects.xtuner_llava.measure --help``."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from xtuner.dataset.collate_fns import default_collate_fn
from xtuner.utils import DEFAULT_IMAGE_TOKEN, IGNORE_INDEX

from projects.xtuner_llava.conversation_dataset import encode_record
from projects.xtuner_llava.loading import Speaker, load_speaker
from sapiens2.models.checkpoints import CheckpointError
from sapiens2.utils.image_io import ImageReadError
from sapiens2.utils.progress import progress_bar

Record = dict[str, Any]


@torch.inference_mode()
def answer_loss(speaker: Speaker, records: Sequence[Record], pictures: Sequence[Path]) -> tuple[float, int]:
    """Sum of the losses of all tokens of the answers, each after what truly stands before it, and their number.

    Args:
        pictures: a file for each record, in place of its own.
    """
    samples = []
    for record, picture in zip(records, pictures):
        tokens = encode_record(record, speaker.tokenizer, speaker.template, speaker.config.max_length)
        samples.append({**tokens, 'pixel_values': speaker.processor.preprocess(picture)['pixel_values'][0]})
    batch = default_collate_fn(samples)['data']
    device = next(speaker.model.parameters()).device
    count = int((batch['labels'] != IGNORE_INDEX).sum())
    loss = speaker.model({name: value.to(device) for name, value in batch.items()}, mode='loss')['loss']
    return float(loss) * count, count


def first_is_right(speaker: Speaker, record: Record, picture: Path) -> bool:
    """Whether the first question is answered word for word."""
    question, truth = (turn['value'] for turn in record['conversations'][:2])
    return speaker.dialogue(picture).ask(question.replace(DEFAULT_IMAGE_TOKEN, '').strip()) == truth


def measure(speaker: Speaker, records: Sequence[Record], folder: Path, batch_size: int,
            console: Console) -> dict[str, float]:
    """Figures over all conversations.

    Returns:
        ``loss``, the mean over the tokens of the answers; ``loss_other_picture``, the same with the next record's
        picture in place of each one's own; ``first_right_percent``, the share of first questions that are answered word
        for word; ``first_commonest_percent``, what the commonest answer to them would reach.
    """
    pictures = [folder / record['image'] for record in records]
    others = pictures[1:] + pictures[:1]
    own = other = tokens = right = 0
    with progress_bar(console) as progress:
        for start in progress.track(range(0, len(records), batch_size), description='batches'):
            part = slice(start, start + batch_size)
            loss, count = answer_loss(speaker, records[part], pictures[part])
            own, tokens = own + loss, tokens + count
            other += answer_loss(speaker, records[part], others[part])[0]
            right += sum(first_is_right(speaker, *pair) for pair in zip(records[part], pictures[part]))
    first = Counter(record['conversations'][1]['value'] for record in records)
    return {'loss': own / tokens, 'loss_other_picture': other / tokens,
            'first_right_percent': 100 * right / len(records),
            'first_commonest_percent': 100 * first.most_common(1)[0][1] / len(records)}


def build_parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(prog='python -m projects.xtuner_llava.measure',
                                     description='Measure a LLaVA model on conversations it has not seen.')
    parser.add_argument('config', help='config that the model was trained with')
    parser.add_argument('checkpoint', help='.pth of `xtuner train`')
    parser.add_argument('conversations', metavar='JSON', type=Path, help='file of make_conversations')
    parser.add_argument('--images', metavar='DIR', type=Path, required=True, help='folder of the pictures')
    parser.add_argument('--num', type=int, help='take the first so many conversations (default: all)')
    parser.add_argument('--batch-size', type=int, default=8, help='conversations at a time (default: %(default)s)')
    parser.add_argument('--device', default='auto', help='cpu, cuda, cuda:1 (default: the GPU if there is one)')
    return parser


def main() -> int:
    """Measure and print; 1 with a message if something cannot be read, else 0."""
    args = build_parser().parse_args()
    try:
        records = json.loads(args.conversations.read_text(encoding='utf-8'))[:args.num]
        if not records:
            raise ValueError(f'{args.conversations}: it holds no conversations')
        figures = measure(load_speaker(args.config, args.checkpoint, args.device), records, args.images,
                          args.batch_size, Console(stderr=True))
    except (OSError, ValueError, CheckpointError, ImageReadError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, value in figures.items():
        print(f'{name:24} {value:.4f}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
