"""Cut people out of photographs: python -m projects.matting.cut_out CONFIG CHECKPOINT INPUT... --out cutouts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Optional

from mmengine.utils import track_iter_progress

from projects.matting.matte_cutter import COLOURS, MatteCutter
from sapiens2.apis.box_finder import BoxFinder, box_finder
from sapiens2.apis.journal import Journal, content_id
from sapiens2.apis.person_boxes import usable_people
from sapiens2.utils.config import load_config
from sapiens2.utils.image_io import read_image, write_image
from sapiens2.utils.image_list import ImageFile, list_images, output_stems
from sapiens2.utils.task_models import inference_pipeline


def cut_files(cut: MatteCutter, files: Sequence[ImageFile], find_people: BoxFinder, folder: Path, colours: str,
              journal: Journal) -> Iterator[str]:
    """Write a PNG with transparency for each picture that ``journal`` does not have; say why one has none."""
    for index, (file, stem) in enumerate(track_iter_progress(list(zip(files, output_stems(files))))):
        if journal.finished(stem, file.path) is not None:
            continue
        try:
            image = read_image(file.path)
            found = find_people.find(index, file.path, image)
        except ValueError as error:  # the picture cannot be read, or its boxes are for another size
            yield str(error)
            continue
        people, texts = usable_people(found, find_people.source, image.shape[:2])
        for text in texts['skipped_boxes']:
            print(f'\n{file.path}: {text}', file=sys.stderr)
        if texts['message']:
            yield f'{file.path}: {texts["message"]}'
            continue
        target = folder / f'{stem}.png'
        write_image(target, cut(image, colours, people.boxes))
        journal.add(stem, file.path, [str(target)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description='Write cut-outs of people as PNG with transparency, as large as the pictures they come from. The '
        'same command goes on where an interrupted one stopped.')
    parser.add_argument('config', type=Path)
    parser.add_argument('checkpoint', type=Path)
    parser.add_argument('inputs', nargs='+', help='pictures, folders of them, globs, or text files of paths')
    parser.add_argument('--out', type=Path, required=True, help='folder to write to')
    parser.add_argument('--boxes', type=Path, help='COCO JSON with the boxes of people, annotations or detection '
                        'results: each person is looked at by itself. Without it, the network sees whole pictures')
    parser.add_argument('--box-thr', type=float, default=0.3, help='boxes with a lower score are left out (0.3)')
    parser.add_argument('--device', default='auto')
    parser.add_argument('--colours', choices=COLOURS, default='estimated', help='of soft edges: ' + '; '.join(
        f'{name}: {text}' for name, text in COLOURS.items()) + ' (default: estimated)')
    return parser


def main(words: Optional[Sequence[str]] = None) -> int:
    """Read the arguments, and write the cut-outs; 1 if a picture has none."""
    parser = _parser()
    args = parser.parse_args(words)
    try:
        files = list_images(args.inputs)
        find_people = box_finder(args.boxes, args.boxes is None, [file.path for file in files], args.box_thr)
        cfg = load_config(args.config)
        cut = MatteCutter(cfg, args.checkpoint, args.device)
    except (OSError, ValueError, RuntimeError) as error:
        parser.error(str(error))
    args.out.mkdir(parents=True, exist_ok=True)
    journal = Journal(args.out, {
        'model': cfg.model.to_dict(), 'weights': content_id(args.checkpoint), 'steps': inference_pipeline(cfg),
        'boxes': find_people.settings, 'colours': args.colours})
    skipped = list(cut_files(cut, files, find_people, args.out, args.colours, journal))
    print(f'\n{len(files) - len(skipped)} cut-outs in {args.out}')
    for reason in skipped:
        print(f'skipped: {reason}', file=sys.stderr)
    return 1 if skipped else 0


if __name__ == '__main__':
    sys.exit(main())
