"""``sapiens2 infer``: run a task on photographs and write numbers and pictures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from sapiens2.cli.arguments import positive
from sapiens2.utils.memory import STREAMING
from sapiens2.utils.tasks import TASKS, unknown_task

if TYPE_CHECKING:
    from sapiens2.apis.image_sources import ImageSource
    from sapiens2.apis.person_boxes import BoxFinder
    from sapiens2.cli.infer_report import Report
    from sapiens2.detectors import PersonDetector

RANDOM, FACES = 'random', 'faces'
_DESCRIPTION = '''Run a task on photographs. Results are as large as each photograph and lie in DIR/TASK:
pose gives JSON, the other tasks PNG and npz, and all a picture to look at.'''
_EPILOG = '''exit code: 0 all done, 1 something was skipped (and named), 2 nothing could be started.

examples:
  sapiens2 infer all portrait.jpg --model tiny --out results
  sapiens2 infer seg photos/ --weights sapiens2_1b_seg.safetensors --out results
  sapiens2 infer pose photos/ --boxes people.json --weights pose.safetensors --out results
  sapiens2 infer all portrait.jpg --whole-image --model sapiens2_0.1b --weights random --out results'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('infer', help='run a task on photographs', description=_DESCRIPTION, epilog=_EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('task', metavar='TASK', type=_task, help=', '.join(TASKS) + ' or all')
    parser.add_argument('inputs', metavar='INPUT', nargs='+',
                        help='image, folder (with its sub-folders), glob, or .txt with a path a line')
    parser.add_argument('--out', metavar='DIR', type=Path, required=True, help='folder for the results')
    model = parser.add_mutually_exclusive_group()
    model.add_argument('--model', metavar='NAME', default='sapiens2_1b',
                       help='default: %(default)s; "tiny" comes with weights, of little use but at once')
    model.add_argument('--config', metavar='CONFIG', type=Path, help='config file, in place of --model')
    parser.add_argument('--weights', metavar='FILE', action='append', default=[],
                        help='checkpoint, or "random" for an untrained network; for "all" give it once for each task '
                             'as TASK=FILE')
    people = parser.add_mutually_exclusive_group()
    people.add_argument('--boxes', metavar='COCO.json', type=Path,
                        help='pose: boxes of people, COCO annotations or detection results')
    people.add_argument('--detector', metavar='NAME',
                        help='pose: who finds people: "faces" (default where it is installed), or a folder with a '
                             'detector of transformers, such as RT-DETR')
    people.add_argument('--whole-image', action='store_true', help='pose: take each image for one person')
    parser.add_argument('--box-thr', metavar='SCORE', type=float, default=0.3,
                        help='leave out boxes with a lower score (default: %(default)s)')
    parser.add_argument('--score-thr', metavar='SCORE', type=float, default=0.3,
                        help='do not draw key points with a lower score (default: %(default)s)')
    parser.add_argument('--device', default='auto', help='auto, cuda, mps or cpu (default: %(default)s)')
    parser.add_argument('--dtype', default='auto', help='auto, bf16, fp32, or a long name (default: %(default)s)')
    memory = parser.add_mutually_exclusive_group()
    memory.add_argument('--stream-layers', choices=STREAMING, default='auto',
                        help='read the blocks of the network from the file one by one, for each batch anew; auto: '
                             'where the weights do not fit into the free memory (default: %(default)s)')
    memory.add_argument('--int8-weights', action='store_true',
                        help='CPU: hold weights in int8, half the memory of bf16, results a little off')
    parser.add_argument('--batch-size', metavar='N', type=positive,
                        help='images or people at a time (default: 1 on a CPU, else 8)')
    parser.add_argument('--img-size', metavar=('H', 'W'), type=positive, nargs=2,
                        help="network's input, pixels (default: as in the config)")
    parser.add_argument('--flip-test', action=argparse.BooleanOptionalAction, default=None,
                        help='pose: average with the mirrored image (default: as in the config)')
    parser.add_argument('--no-pictures', action='store_true', help='write numbers only')
    parser.set_defaults(func=run)


def _task(text: str) -> str:
    if text not in (*TASKS, 'all'):
        raise argparse.ArgumentTypeError(unknown_task(text, (*TASKS, 'all')))
    return text


def weights_by_task(tasks: Sequence[str], given: Sequence[str], model: Optional[str] = None) -> dict[str, str]:
    """Checkpoint of each task, or ``random``.

    Args:
        given: FILE or ``random`` for all tasks, and TASK=FILE or TASK=random for one.
        model: name of a model; where nothing is given, its weights that come with the package are taken.

    Raises:
        ValueError: if a task has none, or one file is to serve several tasks.
        FileNotFoundError: if one does not exist.
    """
    common: Optional[str] = None
    single: dict[str, str] = {}
    for text in given:
        task, separator, file = text.partition('=')
        if separator and task in TASKS:
            single[task] = file
        elif common is None:
            common = text
        else:
            raise ValueError(f'--weights: {common} and {text}: name the task of each, TASK=FILE')
    if common not in (None, RANDOM) and len(tasks) > 1:
        raise ValueError(f'--weights {common}: a checkpoint holds one task; give TASK=FILE for each of '
                         + ', '.join(tasks))
    unused = [task for task in single if task not in tasks]
    if unused:
        raise ValueError(f'--weights {unused[0]}={single[unused[0]]}: that task does not run')
    chosen = {task: single.get(task, common) or _embedded(task, model) for task in tasks}
    lacking = [task for task, file in chosen.items() if not file]
    if lacking:
        raise ValueError(f'--weights: no checkpoint for {", ".join(lacking)}. `sapiens2 zoo` lists the released files '
                         f'and where they are; `--model tiny` has weights that come with the package; `--weights '
                         f'{RANDOM}` runs an untrained network')
    for file in set(chosen.values()) - {RANDOM}:
        # Now, not when the tasks before it are done.
        if not Path(file).exists():
            raise FileNotFoundError(f'--weights: {file}: no such file. `sapiens2 zoo` lists the released ones')
    return chosen


def _embedded(task: str, model: Optional[str]) -> Optional[str]:
    from sapiens2.apis.task_models import model_name
    from sapiens2.weights import embedded_weights
    file = embedded_weights(task, model_name(task, model)) if model else None
    return str(file) if file else None


def run(args: argparse.Namespace) -> int:
    """Run the tasks one after another; 1 if something was skipped, else 0."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.apis.image_sources import image_sources
    from sapiens2.apis.person_boxes import box_finder
    from sapiens2.cli.infer_report import Report
    tasks = TASKS if args.task == 'all' else (args.task,)
    if args.config is not None and len(tasks) > 1:
        raise ValueError('--config describes one task; with "all" name a --model')
    if 'pose' not in tasks and (args.boxes is not None or args.detector or args.whole_image or args.flip_test):
        raise ValueError(f'--boxes, --detector, --whole-image and --flip-test are for pose, not for {args.task}')
    weights = weights_by_task(tasks, args.weights, None if args.config else args.model)
    report = Report(args.box_thr)
    missing: list[str] = []
    sources = image_sources(args.inputs, missing, args.out)
    if not sources:
        raise FileNotFoundError('\n'.join(missing) or 'there is no image among the inputs')
    for text in missing:
        report.add_problem(text)
    # Before a network is built, for which one waits.
    boxes = None
    if 'pose' in tasks:
        paths = [source.path for source in sources]
        boxes = box_finder(args.boxes or _detector(args), args.whole_image, paths, args.box_thr)
    for task in tasks:
        _run_task(task, sources, boxes if task == 'pose' else None, weights[task], args, report)
    report.print_summary(args.out)
    return 1 if report.problems else 0


def _detector(args: argparse.Namespace) -> Optional[PersonDetector]:
    """The detector that was asked for, ready to run."""
    if args.detector is None:
        return None
    from sapiens2.detectors import FacePeople, TransformersPeople
    from sapiens2.utils.devices import pick_device
    detector = FacePeople() if args.detector == FACES else TransformersPeople(args.detector, args.box_thr)
    detector.setup(str(pick_device(args.device)))
    return detector


def _run_task(task: str, sources: Sequence[ImageSource], boxes: Optional[BoxFinder], weights: str,
              args: argparse.Namespace, report: Report) -> None:
    from sapiens2.apis import Sapiens2Inferencer
    inferencer = Sapiens2Inferencer(
        task, args.config or args.model, weights, args.device, args.dtype,
        tuple(args.img_size) if args.img_size else None, args.flip_test if task == 'pose' else None,
        args.stream_layers, args.int8_weights)
    if weights == RANDOM:
        print(f'NOTE: the {task} network has RANDOM weights: it was never trained, and its results mean nothing.',
              file=sys.stderr)
    results = inferencer.iterate(
        sources, boxes, batch_size=args.batch_size, out_dir=args.out, picture=not args.no_pictures,
        score_thr=args.score_thr)
    for _ in report.follow(task, results, len(sources)):
        pass  # the results are files by now
