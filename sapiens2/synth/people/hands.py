"""How fingers are held."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.people.limbs import curl_fingers
from sapiens2.synth.people.pose_draft import PoseDraft

_HANDS = {'relaxed': 3.0, 'flat': 1.0, 'fist': 0.8, 'point': 0.7, 'pinch': 0.6, 'spread': 0.8, 'free': 1.5}


def draw_hand(draft: PoseDraft, side: str) -> str:
    """Draw how the fingers of a hand are held."""
    rng = draft.rng
    names, weights = list(_HANDS), np.asarray(list(_HANDS.values()))
    kind = str(rng.choice(names, p=weights / weights.sum()))
    spread, thumb = draft.normal(3, 1.5), (draft.normal(15, 8), draft.normal(5, 5))
    if kind == 'relaxed':
        curls = np.array([18, 28, 12]) * rng.uniform(0.5, 1.5) * np.array([[0.8], [1.0], [1.1], [1.2]])
    elif kind == 'flat':
        curls = np.full((4, 3), rng.uniform(0, 6))
    elif kind == 'spread':
        curls, spread, thumb = np.full((4, 3), rng.uniform(-3, 8)), rng.uniform(9, 14), (0.0, -15.0)
    elif kind == 'fist':
        curls, thumb = np.tile(
            [rng.uniform(70, 85), rng.uniform(85, 100), rng.uniform(40, 65)], (4, 1)), (rng.uniform(30, 45), 22.0)
        spread = 0.0
    elif kind == 'point':
        curls, thumb = np.tile([72.0, 92.0, 50.0], (4, 1)), (rng.uniform(20, 40), 18.0)
        curls[0] = [rng.uniform(0, 15), rng.uniform(0, 12), 3]
    elif kind == 'pinch':
        curls, thumb = np.tile([rng.uniform(15, 35), 25.0, 15.0], (4, 1)), (rng.uniform(20, 32), 22.0)
        curls[0] = [48, 45, 25]
    else:
        curls = rng.uniform(0, 1, (4, 1)) * np.array([65, 75, 45])
    curls = curls + rng.normal(0, 4, (4, 3))
    curl_fingers(draft.posing, side, curls, spread, thumb)
    return kind
