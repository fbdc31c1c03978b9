"""``sapiens2 infer``: run tasks on photographs and videos, and write numbers and pictures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapiens2.cli.arguments import positive
from sapiens2.cli.infer_arguments import chosen_tasks, not_empty, score, some_path, task_names
from sapiens2.cli.infer_weights import RANDOM, tasks_by_backbone, weights_by_task
from sapiens2.cli.output_options import add_output_options, output_options
from sapiens2.cli.video_options import add_video_options, video_options
from sapiens2.export.formats import is_exported
from sapiens2.utils.choices import OUTPUT_FORMATS
from sapiens2.utils.memory import STREAMING
from sapiens2.utils.tasks import TASKS

if TYPE_CHECKING:
    from sapiens2.apis.outputs import OutputOptions

_DESCRIPTION = '''Run a task on photographs and videos. Results are as large as each photograph and lie in DIR/TASK:
pose gives JSON, the other tasks PNG and npz, and all a picture to look at. A video gives one file of numbers and a
film.'''
_EPILOG = '''exit code: 0 all done, 1 something was skipped (and named), 2 nothing could be started.
What is finished in DIR, made by the same model and settings, is not made again: the same command continues a run.

examples:
  sapiens2 infer all portrait.jpg --model tiny --out results
  sapiens2 infer seg photos/ --weights sapiens2_1b_seg.safetensors --out results
  sapiens2 infer pose film.mp4 --weights pose.safetensors --out results
  sapiens2 infer pose photos/ --boxes people.json --weights pose.safetensors --out results
  sapiens2 infer all portrait.jpg --whole-image --model sapiens2_0.1b --weights random --out results'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('infer', help='run a task on photographs and videos', description=_DESCRIPTION,
                                   epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('task', metavar='TASK', type=task_names,
                        help=', '.join(TASKS) + ', several with commas between (seg,normal), or all')
    parser.add_argument('inputs', metavar='INPUT', nargs='+', type=not_empty,
                        help='image or video, folder (with its sub-folders), glob, address (https://..., rtsp://...), '
                             'camera:0, or .txt with one of these a line')
    parser.add_argument('--out', metavar='DIR', type=some_path, required=True, help='folder for the results')
    parser.add_argument('--overwrite', action='store_true', help='make again what is finished in DIR')
    model = parser.add_argument_group('network')
    which = model.add_mutually_exclusive_group()
    which.add_argument('--model', metavar='NAME', type=not_empty,
                       help='default: sapiens2_1b, or what an exported file holds; "tiny" comes with weights, of '
                            'little use but at once')
    which.add_argument('--config', metavar='CONFIG', type=some_path, help='config file, in place of --model')
    model.add_argument('--weights', metavar='FILE', action='append', default=[], type=not_empty,
                       help='checkpoint, exported network, OWNER/REPOSITORY of huggingface.co, or "random" for an '
                            'untrained network; for several tasks give it once for each task as TASK=FILE')
    model.add_argument('--trust-exported', action='store_true',
                       help='open .pt2 and .ts files, which can run code, as weights')
    model.add_argument('--img-size', metavar=('H', 'W'), type=positive, nargs=2,
                       help="network's input, pixels (default: as in the config)")
    model.add_argument('--flip-test', action=argparse.BooleanOptionalAction, default=None,
                       help='pose: average with the mirrored image (default: as in the config)')
    _add_people(parser.add_argument_group('people, for pose'))
    _add_machine(parser.add_argument_group('machine'))
    add_output_options(parser)
    add_video_options(parser)
    parser.set_defaults(func=run)


def _add_people(group: Any) -> None:
    people = group.add_mutually_exclusive_group()
    people.add_argument('--boxes', metavar='COCO.json', type=some_path,
                        help='boxes of people, COCO annotations or detection results')
    people.add_argument('--detector', metavar='NAME', type=not_empty,
                        help='who finds people: "faces" (default where it is installed), an ONNX file of '
                             'RTMDet or YOLOX, or a folder with a detector of transformers, such as RT-DETR')
    people.add_argument('--whole-image', action='store_true', help='take each image for one person')
    group.add_argument('--box-thr', metavar='SCORE', type=score, default=0.3,
                       help='leave out boxes with a lower score, 0 to 1 (default: %(default)s)')


def _add_machine(group: Any) -> None:
    where = group.add_mutually_exclusive_group()
    where.add_argument('--device', default='auto', help='auto, cuda, mps or cpu (default: %(default)s)')
    where.add_argument('--devices', metavar='A,B', type=lambda text: text.split(','),
                       help='several, for instance cuda:0,cuda:1: each works on its share of the images')
    group.add_argument('--dtype', default='auto', help='auto, bf16, fp32, or a long name (default: %(default)s)')
    group.add_argument('--batch-size', metavar='N', type=positive,
                       help='images or people at a time (default: 1 on a CPU, else 8)')
    memory = group.add_mutually_exclusive_group()
    memory.add_argument('--stream-layers', choices=STREAMING, default='auto',
                        help='read the blocks of the network from the file one by one, for each batch anew; auto: '
                             'where the weights do not fit into the free memory (default: %(default)s)')
    memory.add_argument('--int8-weights', action='store_true',
                        help='CPU: hold weights in int8, half the memory of bf16, results a little off')


def run(args: argparse.Namespace) -> int:
    """Run the tasks, those that share a backbone together; 1 if something was skipped, else 0."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.apis.image_sources import image_sources
    from sapiens2.apis.inference_run import tasks_with_people
    from sapiens2.apis.outputs import collect_coco
    from sapiens2.utils.task_models import DEFAULT_MODEL, model_name
    from sapiens2.apis.video.inputs import split_videos
    from sapiens2.apis.video.records import frame_stems
    from sapiens2.cli.infer_report import Report
    from sapiens2.cli.infer_shards import run_shards
    from sapiens2.cli.infer_work import find_boxes, run_tasks
    from sapiens2.utils.image_list import describe_missing
    tasks, model = chosen_tasks(args.task), args.model or DEFAULT_MODEL
    outputs = output_options(args)
    video_options(args)
    if args.config is not None and len(tasks) > 1:
        raise ValueError('--config describes one task; for several name a --model')
    people = tasks_with_people(tasks, outputs)
    if not people and (args.boxes is not None or args.detector or args.whole_image):
        raise ValueError('--boxes, --detector and --whole-image are for pose, and for seg with --also people; not for '
                         f'{args.task}')
    if args.flip_test and 'pose' not in tasks:
        raise ValueError(f'--flip-test is for pose, not for {args.task}')
    for task in () if args.config else tasks:
        model_name(task, model)  # an unknown one is said before anything else
    weights = weights_by_task(tasks, args.weights, None if args.config else model)
    report = Report(args.box_thr)
    missing: list[str] = []
    videos, others = split_videos(args.inputs)
    absent = [video for video in videos if video.is_file and not Path(video.name).exists()]
    missing += [describe_missing(Path(video.name)) for video in absent]
    videos = [video for video in videos if video not in absent]
    sources = image_sources(others, missing, args.out)
    if not sources and not videos:
        raise FileNotFoundError('\n'.join(missing) or 'there is no image or video among the inputs')
    for text in missing:
        report.add_problem(text)
    # Before a network is built, for which one waits.
    _check(args, tasks, weights, outputs, bool(videos))
    boxes, in_shards = None, bool(args.devices) and len(args.devices) > 1
    # Processes of several devices have a detector each.
    if people and not (in_shards and args.boxes is None):
        boxes = find_boxes(args, sources, args.devices[0] if args.devices else args.device)
    for group in tasks_by_backbone(weights):
        chosen = {task: weights[task] for task in group}
        untrained = [task for task, file in chosen.items() if file == RANDOM]
        if untrained:
            print(f'NOTE: the {", ".join(untrained)} network has RANDOM weights: it was never trained, and its results '
                  'mean nothing.', file=sys.stderr)
        try:
            if in_shards:
                run_shards(args, chosen, sources, videos, report)
            else:
                run_tasks(args, chosen, sources, videos, boxes, args.devices[0] if args.devices else args.device,
                          report)
        finally:
            if 'pose' in group and 'coco' in outputs.pose:
                stems = [source.stem for source in sources]
                collect_coco(args.out, outputs, [*stems, *(stem for video in videos
                                                           for stem in frame_stems(args.out, video.stem))])
    report.print_summary(args.out)
    return 1 if report.problems else 0


def _check(args: argparse.Namespace, tasks: Sequence[str], weights: Mapping[str, str], outputs: OutputOptions,
           has_videos: bool) -> None:
    """
    Raises:
        ValueError, ImportError: for results that cannot be made or written as asked for.
    """
    from sapiens2.apis.outputs import check_keypoints, check_packages
    from sapiens2.utils.task_models import DEFAULT_MODEL, dataset_meta, task_config
    from sapiens2.apis.video.extra import import_assignment, import_av
    from sapiens2.cli.infer_work import check_detector
    for name in (*args.also, *(args.only or ())):
        if not any(name in OUTPUT_FORMATS[task] for task in tasks):
            owners = [task for task, formats in OUTPUT_FORMATS.items() if name in formats]
            raise ValueError(f'--also, --only: {name} is a format of {", ".join(owners)}, not of {args.task}')
    if args.keypoints and 'pose' not in tasks:
        raise ValueError(f'--keypoints is for pose, not for {args.task}')
    if args.camera is not None and 'pointmap' not in tasks:
        raise ValueError(f'--camera is for pointmap, not for {args.task}')
    if args.detector is not None:
        check_detector(args.detector)
    check_packages(tasks, outputs)
    if 'pose' in tasks and not is_exported(weights['pose']):
        check_keypoints(dataset_meta('pose', task_config('pose', args.config or args.model or DEFAULT_MODEL)), outputs)
    if has_videos:
        import_av()
        if 'pose' in tasks:
            import_assignment()
        if 'pose' in tasks and 'coco' in outputs.pose and not args.frame_files:
            raise ValueError('--also coco: the COCO results of a video are made of the JSON files of its frames: add '
                             '--frame-files')
