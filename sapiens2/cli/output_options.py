"""Options of ``sapiens2 infer`` that say what is written."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from sapiens2.cli.infer_arguments import not_empty, score
from sapiens2.utils.choices import DEFAULT_FORMATS, KEYPOINT_SETS, OUTPUT_FORMATS
from sapiens2.utils.suggest import unknown_name

if TYPE_CHECKING:
    from sapiens2.apis.outputs import OutputOptions

# Formats that are not written unless asked for.
MORE_FORMATS = tuple(dict.fromkeys(
    name for formats in OUTPUT_FORMATS.values() for name in formats if name not in DEFAULT_FORMATS))


def add_output_options(group: argparse._ActionsContainer) -> None:
    """Add the options to a parser, or to a group of one."""
    group.add_argument('--also', metavar='FORMAT,...', type=_names(MORE_FORMATS, 'format'), default=(),
                       help=f'more formats, for the tasks that have them: {", ".join(MORE_FORMATS)}')
    group.add_argument('--only', metavar='FORMAT,...', type=_names((*DEFAULT_FORMATS, *MORE_FORMATS), 'format'),
                       help='these formats in place of json, png and npz; a task that has none of them keeps its own')
    group.add_argument('--keypoints', metavar='SET,...', type=_names(KEYPOINT_SETS, 'set of key points'), default=(),
                       help=f'pose: also give the key points as {", ".join(KEYPOINT_SETS)}')
    group.add_argument('--exact-keypoints', action='store_true',
                       help='with --keypoints: leave out points whose counterpart is only near by anatomy')
    group.add_argument('--camera', metavar='K.json', type=not_empty,
                       help='pointmap: intrinsics of the pictures, a file or fx,fy,cx,cy in pixels')
    group.add_argument('--no-pictures', action='store_true', help='write numbers only')
    group.add_argument('--score-thr', metavar='SCORE', type=score, default=0.3,
                       help='do not draw key points with a lower score, 0 to 1 (default: %(default)s)')


def output_options(args: argparse.Namespace) -> OutputOptions:
    """What ``add_output_options`` asked for.

    Raises:
        ValueError: for a camera that cannot be read, and for formats that do not go together.
    """
    from sapiens2.apis.outputs import OutputOptions, read_camera
    formats = {}
    for task, known in OUTPUT_FORMATS.items():
        usual = [name for name in known if name in DEFAULT_FORMATS]
        chosen = [name for name in args.only or () if name in known] or usual
        formats[task] = tuple(dict.fromkeys((*chosen, *(name for name in args.also if name in known))))
    if 'coco' in formats['pose'] and 'json' not in formats['pose']:
        formats['pose'] = ('json', *formats['pose'])
    return OutputOptions(
        **formats, picture=not args.no_pictures, score_thr=args.score_thr, keypoints=args.keypoints,
        near_keypoints=not args.exact_keypoints, camera=None if args.camera is None else read_camera(args.camera))


def _names(known: tuple[str, ...], what: str) -> Callable[[str], tuple[str, ...]]:
    """A type of argument: names with commas between."""
    def parse(text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name.strip() for name in text.split(',') if name.strip()))
        if not names:
            raise argparse.ArgumentTypeError(f'names no {what}; known: {", ".join(known)}')
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(unknown_name(name, known, what))
        return names
    return parse
