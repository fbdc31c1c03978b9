"""``sapiens2 serve``: a page in the browser to try the networks on."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from typing import TYPE_CHECKING, Optional

from sapiens2.cli.arguments import not_negative, positive, positive_number
from sapiens2.cli.infer_arguments import not_empty

if TYPE_CHECKING:
    from sapiens2.detectors import PersonDetector

_LAST_PORT = 65_535
_DESCRIPTION = '''A page in the browser: upload a photograph, choose a task, look at the result beside the original, and
download the numbers. It is for this machine alone unless --host lets others in. Nothing is sent to other hosts.'''
_EPILOG = '''examples:
  sapiens2 serve --model tiny
  sapiens2 serve --model sapiens2_1b --weights pose=pose.safetensors --weights seg=seg.safetensors
  sapiens2 serve --model 0.4b --model 1b --weights 0.4b:seg=small.safetensors --weights 1b:seg=large.safetensors

stop it with Ctrl-C; uploads and results are deleted then, and --keep seconds after they came.'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('serve', help='a page in the browser to try the networks on',
                                   description=_DESCRIPTION, epilog=_EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', metavar='NAME', action='append', type=not_empty,
                        help='model that visitors can choose, once for each (default: what exported networks hold, '
                             'else sapiens2_1b)')
    parser.add_argument('--weights', metavar='[MODEL:]TASK=FILE', action='append', default=[], type=not_empty,
                        help='checkpoint or exported network of a task, or OWNER/REPOSITORY of huggingface.co, once '
                             'for each; tasks without one are not offered. "random" offers the others with untrained '
                             'networks')
    parser.add_argument('--trust-exported', action='store_true',
                        help='open .pt2 and .ts files, which can run code, as weights')
    parser.add_argument('--detector', metavar='NAME', type=not_empty,
                        help='who finds people for pose: "faces" (default where it is installed), "none", an ONNX '
                             'file of RTMDet or YOLOX, or a folder with a detector of transformers')
    parser.add_argument('--device', default='auto', help='auto, cuda, mps or cpu (default: %(default)s)')
    parser.add_argument('--dtype', default='auto', help='auto, bf16, fp32, or a long name (default: %(default)s)')
    parser.add_argument('--host', default='127.0.0.1', type=not_empty,
                        help='address to listen at; 0.0.0.0 lets everyone in who reaches this machine, without a '
                             'password (default: %(default)s)')
    parser.add_argument('--port', metavar='N', type=_port, default=7860,
                        help='0 takes any that is free (default: %(default)s)')
    parser.add_argument('--max-pixels', metavar='N', type=positive, default=16_000_000,
                        help='largest picture (default: %(default)s)')
    parser.add_argument('--max-mb', metavar='MB', type=positive_number, default=20.0,
                        help='largest file (default: %(default)s)')
    parser.add_argument('--timeout', metavar='SECONDS', type=positive_number, default=120.0,
                        help='longest work on one picture (default: %(default)s)')
    parser.add_argument('--queue', metavar='N', type=positive, default=16,
                        help='visitors who may wait (default: %(default)s)')
    parser.add_argument('--keep', metavar='SECONDS', type=positive, default=600,
                        help='uploads and results are deleted after this time (default: %(default)s)')
    parser.set_defaults(func=run)


def _port(text: str) -> int:
    number = not_negative(text)
    if number > _LAST_PORT:
        raise argparse.ArgumentTypeError(f'must be at most {_LAST_PORT}, this is {text}')
    return number


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or a signal to end; 0 then."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.serve import ServeSettings, network_specs
    from sapiens2.serve.server import LOOPBACK, serving
    settings = ServeSettings(
        networks=network_specs(args.model or (), args.weights, args.trust_exported), host=args.host, port=args.port,
        device=args.device, dtype=args.dtype, detector=_detector(args.detector, args.device),
        max_pixels=args.max_pixels, max_bytes=round(args.max_mb * 1e6), seconds=args.timeout, queue=args.queue,
        keep_seconds=args.keep, trust_exported=args.trust_exported)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format='%(asctime)s %(message)s', datefmt='%H:%M:%S')
    logging.getLogger('sapiens2.serve').setLevel(logging.INFO)
    end = threading.Event()
    # As a service manager ends it; uploads are deleted then as well.
    signal.signal(signal.SIGTERM, lambda number, frame: end.set())
    with serving(settings) as url:
        print(f'Open {url} in a browser. Ctrl-C ends it.', flush=True)
        if args.host not in LOOPBACK:
            print('NOTE: everyone who reaches this machine can use it: there is no password.', file=sys.stderr)
        try:
            end.wait()
        except KeyboardInterrupt:
            print('ended', file=sys.stderr)
    return 0


def _detector(name: Optional[str], device: str) -> Optional[PersonDetector]:
    """Who finds people, ready to run; without a name that by faces, if it is installed."""
    from sapiens2.cli.infer_work import check_detector
    from sapiens2.detectors import person_detector
    from sapiens2.utils.devices import pick_device
    if name == 'none':
        return None
    if name is not None:
        check_detector(name)
    detector = person_detector(name or 'faces')
    try:
        detector.setup(str(pick_device(device)))
    except ImportError as error:
        if name is not None:
            raise
        print(f'NOTE: visitors give boxes, or pictures of one person. To find people, {error}', file=sys.stderr)
        return None
    return detector
