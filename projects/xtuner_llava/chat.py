"""Asks a trained model about photographs: ``python -m projects.xtuner_llava.chat --help``."""

from __future__ import annotations

import argparse
import sys

from projects.xtuner_llava.loading import load_speaker
from sapiens2.models.checkpoints import CheckpointError
from sapiens2.utils.image_io import ImageReadError

_EPILOG = '''Questions are asked one after the other; each may refer to those before it. Without --questions they
are read from the terminal, one a line, until the end of the input.

exit code: 0 all answered, 1 a picture could not be read, 2 nothing could be started.'''


def build_parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(prog='python -m projects.xtuner_llava.chat', epilog=_EPILOG,
                                     description='Ask a LLaVA model with a Sapiens2 encoder about pictures.',
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('config', help='config that the model was trained with')
    parser.add_argument('checkpoint', help='.pth of `xtuner train`')
    parser.add_argument('--images', metavar='FILE', nargs='+', required=True, help='pictures')
    parser.add_argument('--questions', metavar='TEXT', nargs='+', help='what to ask about each of them')
    parser.add_argument('--max-new-tokens', type=int, default=128, help='longest answer (default: %(default)s)')
    parser.add_argument('--device', default='auto', help='cpu, cuda, cuda:1 (default: the GPU if there is one)')
    return parser


def main() -> int:
    """Ask and print; the exit code is described above."""
    args = build_parser().parse_args()
    try:
        speaker = load_speaker(args.config, args.checkpoint, args.device)
    except (OSError, CheckpointError) as error:
        print(error, file=sys.stderr)
        return 2
    failed = False
    for image in args.images:
        try:
            dialogue = speaker.dialogue(image, args.max_new_tokens)
        except ImageReadError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        print(image)
        for question in args.questions or (line.strip() for line in sys.stdin):
            print(f'  {question}\n    {dialogue.ask(question)}', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
