"""Video: frames in, tracked and smoothed results and films out.

``run_video`` does it all; reading, tracking, smoothing and films are parts of their own that know nothing of networks.
"""

from sapiens2.apis.video.inputs import VIDEO_ENDINGS, VideoInput, split_videos, video_input
from sapiens2.apis.video.options import VideoOptions
from sapiens2.apis.video.run import VideoSummary, run_video

__all__ = ['VIDEO_ENDINGS', 'VideoInput', 'VideoOptions', 'VideoSummary', 'run_video', 'split_videos', 'video_input']
