"""Options of ``sapiens2 infer`` for inputs that are videos."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sapiens2.cli.arguments import not_negative_number, positive, positive_number, share

if TYPE_CHECKING:
    from sapiens2.apis.video.options import VideoOptions


def add_video_options(parser: argparse.ArgumentParser) -> None:
    """Add the options. Those that are not given are None, and have the defaults of ``VideoOptions``."""
    group = parser.add_argument_group('videos')
    group.add_argument('--every', metavar='N', type=positive, help='take each N-th frame')
    group.add_argument('--start', metavar='S', type=not_negative_number, help='begin at this time, seconds')
    group.add_argument('--end', metavar='S', type=positive_number, help='stop before this time, seconds')
    group.add_argument('--side-by-side', action='store_true', default=None,
                       help='in the film, show each frame beside its picture')
    group.add_argument('--no-film', action='store_false', dest='film', default=None, help='write numbers only')
    group.add_argument('--no-audio', action='store_false', dest='audio', default=None,
                       help='leave the sound out of the film')
    group.add_argument('--frame-files', action='store_true', default=None,
                       help='also write for each frame the files that an image has')
    group.add_argument('--no-smooth', action='store_false', dest='smooth', default=None,
                       help='leave key points, boxes and scales as each frame has them')
    group.add_argument('--smooth-cutoff', metavar='HZ', type=positive_number, dest='cutoff',
                       help='of the smoothing, for what stands still; lower is calmer')
    group.add_argument('--smooth-speed', metavar='HZ', type=not_negative_number, dest='speed_cutoff',
                       help='how much it rises for what moves by one size of its person a second; higher lags less')
    group.add_argument('--box-overlap', metavar='IOU', type=share,
                       help='boxes of a frame that overlap by more are one person')
    group.add_argument('--new-track', metavar='SCORE', type=share,
                       help='boxes with a lower score continue a person, but are no new one')
    group.add_argument('--max-gap', metavar='S', type=positive_number,
                       help='seconds unseen after which a person gets a new id')


def video_options(args: argparse.Namespace) -> VideoOptions:
    """What ``add_video_options`` asked for.

    Raises:
        ValueError: for settings that do not go together.
    """
    from sapiens2.apis.video.options import VideoOptions
    names = ('every', 'start', 'end', 'side_by_side', 'film', 'audio', 'frame_files', 'smooth', 'cutoff',
             'speed_cutoff', 'box_overlap', 'new_track', 'max_gap')
    return VideoOptions(**{name: getattr(args, name) for name in names if getattr(args, name) is not None})
