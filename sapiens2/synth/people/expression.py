"""What a face does: facial actions (the names of ARKit) and where the eyes look."""

from __future__ import annotations

import numpy as np

# Degrees of gaze that a lid action of 1 belongs to.
GAZE_SIDE, GAZE_UP = 24.0, 12.0
# Kind -> share, and of each action the least and the most amount; '*' stands for Left and Right.
_KINDS: dict[str, tuple[float, dict[str, tuple[float, float]]]] = {
    'neutral': (3.0, {}),
    'smile': (2.0, {
        'mouthSmile*': (0.3, 0.8),
        'cheekSquint*': (0.1, 0.6),
        'eyeSquint*': (0.0, 0.5)
    }),
    'grin': (2.2, {
        'mouthSmile*': (0.5, 0.9),
        'mouthUpperUp*': (0.3, 0.7),
        'mouthLowerDown*': (0.2, 0.6),
        'jawOpen': (0.03, 0.2),
        'cheekSquint*': (0.2, 0.8),
        'eyeSquint*': (0.0, 0.6)
    }),
    'talk': (1.5, {
        'jawOpen': (0.1, 0.4),
        'mouthFunnel': (0.0, 0.4),
        'mouthLowerDown*': (0.0, 0.4),
        'mouthUpperUp*': (0.0, 0.3)
    }),
    'shout': (0.7, {
        'jawOpen': (0.5, 1.0),
        'mouthUpperUp*': (0.2, 0.6),
        'mouthLowerDown*': (0.3, 0.7),
        'browDown*': (0.0, 0.6)
    }),
    'surprise': (0.8, {
        'jawOpen': (0.25, 0.7),
        'browInnerUp': (0.5, 1.0),
        'browOuterUp*': (0.4, 1.0),
        'eyeWide*': (0.4, 1.0)
    }),
    'frown': (0.8, {
        'browDown*': (0.4, 1.0),
        'mouthFrown*': (0.2, 0.8),
        'eyeSquint*': (0.0, 0.5),
        'mouthPress*': (0.0, 0.6)
    }),
    'sad': (0.5, {
        'browInnerUp': (0.4, 1.0),
        'mouthFrown*': (0.3, 0.9),
        'mouthShrugLower': (0.0, 0.5)
    }),
    'pucker': (0.5, {
        'mouthPucker': (0.4, 1.0),
        'mouthFunnel': (0.0, 0.4)
    }),
    'tongue': (0.6, {
        'jawOpen': (0.3, 0.6),
        'tongueOut': (0.6, 1.0),
        'mouthLowerDown*': (0.1, 0.4)
    }),
    'sneer': (0.3, {
        'noseSneer*': (0.3, 0.9),
        'mouthUpperUp*': (0.1, 0.5),
        'browDown*': (0.1, 0.5)
    }),
}


def draw_expression(rng: np.random.Generator,
                    kind: str | None = None) -> tuple[dict[str, float], tuple[float, float], str]:
    """Draw a face: actions (name -> amount in [0, 1]), gaze (degrees to the left, degrees up) and the kind's name."""
    if kind is None:
        shares = np.asarray([share for share, _ in _KINDS.values()])
        kind = str(rng.choice(list(_KINDS), p=shares / shares.sum()))
    strength = rng.uniform(0.6, 1.0)
    actions: dict[str, float] = {}
    for name, (low, high) in _KINDS[kind][1].items():
        amount = strength * rng.uniform(low, high)
        for side in ('Left', 'Right') if name.endswith('*') else ('', ):
            # No face is quite even.
            actions[name.replace('*', side)] = float(np.clip(amount *
                                                             rng.uniform(0.8, 1.2), 0, 1)) if side else float(amount)
    if kind == 'neutral':
        for name in ('browInnerUp', 'mouthPucker', 'mouthShrugUpper', 'jawOpen'):
            actions[name] = float(rng.uniform(0, 0.12))
    side, up = float(np.clip(rng.normal(0, 9), -22, 22)), float(np.clip(rng.normal(-1, 4), -11, 9))
    left = 'In' if side < 0 else 'Out'
    right = 'Out' if side < 0 else 'In'
    actions |= {f'eyeLook{left}Left': abs(side) / GAZE_SIDE, f'eyeLook{right}Right': abs(side) / GAZE_SIDE}
    for eye in ('Left', 'Right'):
        actions[f'eyeLook{"Up" if up > 0 else "Down"}{eye}'] = abs(up) / GAZE_UP
    lids = rng.random()
    if lids < 0.05:
        actions |= {'eyeBlinkLeft': 1.0, 'eyeBlinkRight': 1.0}
    elif lids < 0.08:
        actions['eyeBlinkLeft' if rng.integers(2) else 'eyeBlinkRight'] = 1.0
    elif lids < 0.25 and kind != 'surprise':
        actions['eyeBlinkLeft'] = actions['eyeBlinkRight'] = float(rng.uniform(0.1, 0.4))
    return actions, (side, up), kind
