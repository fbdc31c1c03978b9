"""Makes a small language model with random weights and a tokenizer: ``python -m projects.xtuner_llava.make_tiny_llm``.

Nothing is downloaded. It stands in for a real model, so that the whole chain can be run anywhere in minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

# The padding comes first, because XTuner pads with 0.
_PAD, _START, _END = '<pad>', '<s>', '</s>'
# What prompts are made of besides the conversations.
_PROMPTS = ('USER: ASSISTANT:',)


def texts_of(files: Sequence[Path]) -> Iterator[str]:
    """All that is said in files of conversations.

    Raises:
        ValueError: naming the file that holds none.
    """
    for file in files:
        try:
            records = json.loads(file.read_text(encoding='utf-8'))
            yield from [turn['value'] for record in records for turn in record['conversations']]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f'{file}: it holds no conversations of make_conversations ({error!r})') from error


def train_tokenizer(texts: Iterable[str], vocabulary: int, longest: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of at most ``vocabulary`` tokens, trained on ``texts``; any text can be told in it.

    Args:
        longest: tokens that the model takes at once.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([*texts, *_PROMPTS], trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[_PAD, _START, _END], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=_START, eos_token=_END, pad_token=_PAD,
                                   padding_side='right', model_max_length=longest, clean_up_tokenization_spaces=False)


def random_llama(tokenizer: PreTrainedTokenizerFast, width: int, layers: int, seed: int) -> LlamaForCausalLM:
    """A LLaMA of ``layers`` blocks, ``width`` wide, heads of 32, with random weights; the same for the same seed."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=width, intermediate_size=8 * width // 3, num_hidden_layers=layers,
        num_attention_heads=width // 32, max_position_embeddings=tokenizer.model_max_length,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id))


def build_parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(prog='python -m projects.xtuner_llava.make_tiny_llm',
                                     description='Make a small random LLaMA and a tokenizer of its own.')
    parser.add_argument('conversations', metavar='JSON', nargs='+', type=Path,
                        help='conversations that the tokenizer is trained on')
    parser.add_argument('--out', metavar='DIR', type=Path, required=True, help='folder for the model')
    parser.add_argument('--vocabulary', type=int, default=1024, help='tokens at most (default: %(default)s)')
    parser.add_argument('--width', type=int, default=128, help='a multiple of 32 (default: %(default)s)')
    parser.add_argument('--layers', type=int, default=4, help='blocks (default: %(default)s)')
    parser.add_argument('--longest', type=int, default=2048, help='tokens at once, pictures and text '
                                                                  '(default: %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='of the weights (default: %(default)s)')
    return parser


def main() -> int:
    """Make and save the model; 1 with a message if the conversations are wrong, else 0."""
    args = build_parser().parse_args()
    try:
        if args.width < 32 or args.width % 32:
            raise ValueError(f'--width {args.width}: it must be a multiple of 32')
        tokenizer = train_tokenizer(texts_of(args.conversations), args.vocabulary, args.longest)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    model = random_llama(tokenizer, args.width, args.layers, args.seed)
    for part in (tokenizer, model):
        part.save_pretrained(args.out)
    print(f'{args.out}: {model.num_parameters():,} parameters, {len(tokenizer)} tokens')
    return 0


if __name__ == '__main__':
    sys.exit(main())
