"""Results of one task, smoothed from frame to frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapiens2.apis.video.one_euro import OneEuro, TrackSmoother
from sapiens2.apis.video.options import VideoOptions
from sapiens2.apis.video.people import person_size

# By how much lower the cutoffs are for scales than for points.
_CALMER = 5


class ResultSmoother:
    """Smooths key points of each track, and the scale of pointmaps with the metres that follow from it."""

    def __init__(self, options: VideoOptions) -> None:
        self._points = TrackSmoother(options.cutoff, options.speed_cutoff, options.max_gap)
        # Logarithms, which move by one for a factor of e. They change as a camera zooms or a scene does: slowly.
        self._scale, self._range = (OneEuro(options.cutoff / _CALMER, options.speed_cutoff / _CALMER) for _ in range(2))

    def __call__(self, result: dict[str, Any], time: float) -> None:
        """Smooth a result in place."""
        if result['task'] == 'pose':
            self._points.forget(time)
            points = result['keypoints']
            for number, (track, box) in enumerate(zip(result['track_ids'].tolist(), result['bboxes'])):
                points[number] = self._points(track, points[number], time, person_size(box))
        elif result['task'] == 'pointmap':
            before = np.asarray(result['scale'], dtype=np.float64)
            after = np.exp(self._scale(np.log(before)[None], time)[0])
            # The network's map over its scale is in metres.
            result['pointmap'] = (result['pointmap'] * (before / after).astype(np.float32)).astype(np.float32)
            result['scale'] = after.astype(np.float32)

    def depth_range(self, near: float, far: float, time: float) -> tuple[float, float]:
        """Nearest and farthest depth to show, metres, so that the colours of a film do not flicker."""
        low, high = np.exp(self._range(np.log(np.maximum([[near, far]], 1e-3)), time)[0])
        return float(low), float(max(high, low + 1e-3))

    def state(self) -> dict[str, Any]:
        """What it remembers, in JSON's types."""
        return {'points': self._points.state(), 'scale': self._scale.state(), 'range': self._range.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        for name, part in (('points', self._points), ('scale', self._scale), ('range', self._range)):
            part.restore(state[name])
