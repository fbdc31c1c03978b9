"""Writes conversations about pictures: ``python -m projects.xtuner_llava.make_conversations --help``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from projects.xtuner_llava.coco_facts import coco_pictures
from projects.xtuner_llava.conversations import caption_record, dialogue_record
from projects.xtuner_llava.facts import Picture
from projects.xtuner_llava.synth_facts import synth_pictures
from sapiens2.datasets.errors import DataError
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_io import ImageReadError
from sapiens2.utils.progress import progress_bar

_EPILOG = '''writes OUT/SPLIT_captions.json (one question, a description) and OUT/SPLIT_dialogues.json (up to four
questions), in LLaVA's format; the paths of the pictures are relative to SET, or to the folder of --images.

examples:
  python -m projects.xtuner_llava.make_conversations synth data/synth --out data/llava
  python -m projects.xtuner_llava.make_conversations coco val2017.json --images val2017 --out data/llava_coco'''


def build_parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(
        prog='python -m projects.xtuner_llava.make_conversations', epilog=_EPILOG,
        description='Write conversations about pictures of people, out of their annotations.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest='kind', required=True)
    synth = kinds.add_parser('synth', help='a folder of `sapiens2 synth`')
    synth.add_argument('set', metavar='SET', type=Path, help='the folder')
    coco = kinds.add_parser('coco', help='annotations in the format of COCO')
    coco.add_argument('set', metavar='JSON', type=Path, help='the annotation file')
    coco.add_argument('--images', metavar='DIR', type=Path, required=True, help='folder of the pictures')
    coco.add_argument('--split', default='val', help='start of the names of the files (default: %(default)s)')
    for kind in (synth, coco):
        kind.add_argument('--out', metavar='DIR', type=Path, required=True, help='folder for the conversations')
    return parser


def write_split(name: str, pictures: Iterable[Picture], out: Path, console: Console) -> int:
    """Write the captions and dialogues of some pictures; returns how many pictures there are."""
    records: dict[str, list] = {'captions': [], 'dialogues': []}
    with progress_bar(console) as progress:
        for picture in progress.track(pictures, description=name):
            records['captions'].append(caption_record(picture))
            records['dialogues'].append(dialogue_record(picture))
    for kind, found in records.items():
        with atomic_path(out / f'{name}_{kind}.json') as partial:
            partial.write_text(json.dumps(found, indent=1), encoding='utf-8')
    return len(records['captions'])


def main() -> int:
    """Write all files; 1 with a message if the data are wrong, else 0."""
    args, console = build_parser().parse_args(), Console(stderr=True)
    try:
        splits = ({args.split: coco_pictures(args.set, args.images)} if args.kind == 'coco' else
                  {split: synth_pictures(args.set, split) for split in ('train', 'val')})
        for split, pictures in splits.items():
            print(f'{args.out}/{split}_*.json: {write_split(split, pictures, args.out, console)} pictures')
    except (DataError, ImageReadError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
