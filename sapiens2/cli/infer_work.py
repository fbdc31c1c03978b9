"""What ``sapiens2 infer`` does on one device."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from sapiens2.cli.output_options import output_options
from sapiens2.cli.video_options import video_options

if TYPE_CHECKING:
    from sapiens2.apis.box_finder import BoxFinder
    from sapiens2.apis.image_sources import ImageSource
    from sapiens2.apis.video.inputs import VideoInput
    from sapiens2.detectors import PersonDetector


def find_boxes(args: argparse.Namespace, sources: Sequence[ImageSource], device: str) -> BoxFinder:
    """How people are found, as the arguments say.

    Args:
        sources: images of which a file of boxes must know one; with none it is not asked.
        device: where a detector runs.
    """
    from sapiens2.apis.box_finder import box_finder
    return box_finder(args.boxes or _detector(args, device), args.whole_image, [source.file_name for source in sources],
                      args.box_thr)


def check_detector(name: str) -> None:
    """Look whether a detector can be there, before what runs it is loaded, which takes seconds.

    Raises:
        FileNotFoundError: if there is no such file or folder, or none with a detector.
    """
    from sapiens2.detectors.by_name import FACES
    from sapiens2.utils.image_list import describe_missing
    path = Path(name)
    # A repository in the local cache of Hugging Face.
    is_repository = len(path.parts) == 2 and not path.suffix and not path.is_absolute() and not path.parent.exists()
    if name == FACES or is_repository or path.is_file() or (path / 'config.json').is_file():
        return
    fault = f'{path}: no detector in this folder: it has no config.json' if path.is_dir() else describe_missing(path)
    raise FileNotFoundError(f'--detector {fault}. Give "{FACES}", an ONNX file, or the folder of a detector of '
                            'transformers; nothing is downloaded')


def _detector(args: argparse.Namespace, device: str) -> Optional[PersonDetector]:
    """The detector that was asked for, ready to run."""
    if args.detector is None:
        return None
    from sapiens2.detectors import person_detector
    from sapiens2.utils.devices import pick_device
    detector = person_detector(args.detector, args.box_thr)
    detector.setup(str(pick_device(device)))
    return detector


def run_tasks(args: argparse.Namespace, weights: Mapping[str, str], sources: Sequence[ImageSource],
              videos: Sequence[VideoInput], boxes: Optional[BoxFinder], device: str, report: Any) -> None:
    """Run several tasks that share a backbone, or one, on images, then on videos.

    Args:
        boxes: how people are found, if a task needs them.
        report: is shown results and problems, see ``Report``.
    """
    from sapiens2.apis import Sapiens2Inferencer
    from sapiens2.apis.inference_run import tasks_with_people
    from sapiens2.apis.video.run import run_video
    inferencer = Sapiens2Inferencer(
        tuple(weights), args.config or args.model, weights, device, args.dtype,
        tuple(args.img_size) if args.img_size else None, args.flip_test if 'pose' in weights else None,
        args.stream_layers, args.int8_weights, args.trust_exported)
    outputs, video_choice = output_options(args), video_options(args)
    options: dict[str, Any] = dict(
        batch_size=args.batch_size, out_dir=args.out, outputs=outputs, box_thr=args.box_thr,
        boxes=boxes if tasks_with_people(weights, outputs) else None, resume=not args.overwrite)
    if sources:
        results = inferencer.iterate(sources, keep_values=False, **options)
        for _ in report.follow(' + '.join(weights), results, len(sources) * len(weights)):
            pass  # the results are files by now
    for video in videos:
        try:
            summary = run_video(inferencer, video, options=video_choice, report=report, **options)
        except (ValueError, FileNotFoundError) as error:
            report.add_problem(str(error))
            continue
        if summary.finished_before:
            report.note(f'{video.name}: finished before by the same model and settings (--overwrite makes it again)')
