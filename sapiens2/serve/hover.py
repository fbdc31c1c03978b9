"""A picture whose key points say their names when the mouse, a finger or the keyboard comes near."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from sapiens2.visualization.layout import fit_square

_LONGEST_SIDE, _QUALITY = 1280, 88
# Names the point that is nearest to the pointer. One label for all, because it must lie above every point.
SCRIPT = '''
const near = (svg, event) => {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  let best = null, least = Infinity;
  for (const dot of svg.querySelectorAll('circle[data-name]')) {
    const far = Math.hypot(dot.cx.baseVal.value - at.x, dot.cy.baseVal.value - at.y);
    if (far < least) [best, least] = [dot, far];
  }
  return least < svg.viewBox.baseVal.width * 0.04 ? best : null;
};
const show = (event) => {
  const svg = event.target.closest && event.target.closest('svg.s2-points');
  if (!svg) return;
  const dot = near(svg, event), label = element.querySelector('.s2-point-name');
  svg.querySelectorAll('circle.near').forEach((other) => other.classList.remove('near'));
  if (dot) dot.classList.add('near');
  label.textContent = dot ? dot.dataset.name : label.dataset.hint;
};
element.addEventListener('pointermove', show);
element.addEventListener('pointerdown', show);
'''


def hover_html(picture: np.ndarray, result: Mapping[str, Any], score_thr: float) -> str:
    """HTML of ``picture`` with its key points; ``SCRIPT`` brings it to life.

    Args:
        picture: (H, W, 3) uint8 BGR, the drawn result, of the size of the source image.
        result: pose, see ``Sapiens2Inferencer.iterate``.
        score_thr: key points with a lower score are left out, as they are in the picture.
    """
    height, width = picture.shape[:2]
    small = fit_square(picture, min(_LONGEST_SIDE, max(height, width)))
    content = cv2.imencode('.jpg', small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])[1].tobytes()
    names = [html.escape(name.replace('_', ' ')) for name in result['dataset_meta']['keypoint_names']]
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{max(height, width) / 160:.1f}" '
        f'data-name="{names[index]} · score {score:.2f} · person {person}"/>'
        for person, (points, scores) in enumerate(zip(result['keypoints'], result['keypoint_scores']), 1)
        for index, ((x, y), score) in enumerate(zip(points.tolist(), scores.tolist())) if score >= score_thr]
    hint = 'Move over the picture, or touch it: the nearest key point says its name.' if dots else \
        f'No key point has a score of {score_thr:g} or more.'
    return (f'<p class="s2-point-name" data-hint="{hint}" aria-live="polite">{hint}</p>'
            f'<svg class="s2-points" viewBox="0 0 {width} {height}" role="img" aria-label="{len(dots)} key points">'
            f'<image width="{width}" height="{height}" href="data:image/jpeg;base64,'
            f'{base64.b64encode(content).decode("ascii")}"/>{"".join(dots)}</svg>')
