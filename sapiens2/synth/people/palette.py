"""Colours and materials of people, linear RGB."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.scene import Material

# Albedo of skin from the lightest to the darkest, in ten steps about as far apart as those of the Monk skin tone scale.
_SKIN = ((0.60, 0.43, 0.35), (0.55, 0.38, 0.29), (0.49, 0.32, 0.225), (0.42, 0.26, 0.17), (0.33, 0.19, 0.115),
         (0.24, 0.13, 0.075), (0.165, 0.085, 0.047), (0.11, 0.055, 0.031), (0.065, 0.034, 0.021), (0.038, 0.022, 0.015))
_HAIR = (((0.006, 0.005, 0.005), 4), ((0.018, 0.010, 0.006), 4), ((0.05, 0.024, 0.011), 3), ((0.12, 0.06, 0.026), 2),
         ((0.34, 0.21, 0.09), 1.5), ((0.55, 0.40, 0.22), 0.7), ((0.20, 0.045, 0.014), 0.8), ((0.45, 0.43, 0.41), 0.4),
         ((0.02, 0.06, 0.3), 0.1), ((0.4, 0.03, 0.12), 0.1))
_IRIS = (((0.045, 0.020, 0.009), 5), ((0.11, 0.055, 0.02), 3), ((0.09, 0.09, 0.035), 1.5), ((0.11, 0.19, 0.30), 1.5),
         ((0.17, 0.22, 0.24), 1))
_CLOTH = ((0.015, 0.015, 0.017), (0.06, 0.06, 0.065), (0.25, 0.25, 0.26), (0.75, 0.74, 0.72), (0.02, 0.035, 0.11),
          (0.05, 0.13, 0.38), (0.33, 0.52, 0.72), (0.40, 0.03, 0.03), (0.16, 0.015, 0.025), (0.66, 0.22, 0.05),
          (0.75, 0.52, 0.10), (0.06, 0.20, 0.07), (0.09, 0.11, 0.04), (0.10, 0.35, 0.32), (0.22, 0.07, 0.30),
          (0.75, 0.33, 0.40), (0.45, 0.34, 0.22), (0.14, 0.075, 0.04), (0.62, 0.55, 0.42))
_PATTERN_SCALE = {
    'stripes': (0.02, 0.08),
    'checks': (0.03, 0.12),
    'dots': (0.02, 0.06),
    'camouflage': (0.08, 0.18),
    'print': (0.05, 0.14),
    'knit': (0.006, 0.014)
}


def _choice(rng: np.random.Generator, table: tuple, count: int | None = None) -> np.ndarray:
    """A colour of a table of (colour, share), varied a little."""
    shares = np.asarray([share for _, share in table[:count]], float)
    color = np.asarray(table[int(rng.choice(len(shares), p=shares / shares.sum()))][0])
    return _vary(rng, color, 0.18)


def _vary(rng: np.random.Generator, color: np.ndarray, spread: float) -> np.ndarray:
    color = color * np.exp(rng.normal(0, spread)) * np.exp(rng.normal(0, 0.25 * spread, 3))
    return np.clip(color, 0.004, 0.85).astype(np.float32)


def seed_of(rng: np.random.Generator) -> int:
    """A seed for a pattern."""
    return int(rng.integers(1, 2**31 - 1))


def skin_tone(rng: np.random.Generator, race: tuple[float, float, float]) -> tuple[np.ndarray, float]:
    """Albedo of the skin, and its darkness in [0, 1]: the whole range, tied only loosely to the shape of the face."""
    african, asian, caucasian = race
    darkness = float(np.clip(0.72 * african + 0.36 * asian + 0.26 * caucasian + rng.normal(0, 0.17), 0.02, 0.98))
    steps = np.asarray(_SKIN)
    tone = np.stack(
        [np.interp(darkness * (len(steps) - 1), np.arange(len(steps)), steps[:, channel]) for channel in range(3)])
    # Undertones differ at the same darkness.
    return np.clip(tone * np.exp(rng.normal(0, 0.06, 3)), 0.01, 0.8).astype(np.float32), darkness


def skin_materials(rng: np.random.Generator, tone: np.ndarray, darkness: float, hair: np.ndarray, stubble: bool,
                   made_up: bool) -> dict[str, Material]:
    """Materials 'skin', 'lip', 'nail', 'tongue', 'gum', 'teeth' and 'eye'."""
    red = np.array([0.9, 0.52, 0.52]) if not made_up else np.array([0.85, 0.3, 0.33]) * np.exp(rng.normal(0, 0.25, 3))
    nail = tone * (1.12, 0.92, 0.92) if not made_up or rng.random() < 0.5 else _choice(
        rng, tuple((color, 1) for color in _CLOTH))
    if stubble:
        skin = Material('skin', tone, 'stubble', np.asarray([0.6 * hair + 0.25 * tone], np.float32), 0.01, 0.55, 0.032,
                        seed_of(rng))
    else:
        freckles = darkness < 0.5 and rng.random() < 0.15
        skin = Material('skin',
                        tone,
                        'freckles' if freckles else 'plain',
                        scale=0.01,
                        roughness=0.55,
                        specular=0.032,
                        seed=seed_of(rng))
    white = rng.uniform(0.5, 0.72)
    return {
        'skin':
        skin,
        'lip':
        Material('lip',
                 np.clip(tone * red, 0.01, 0.8).astype(np.float32),
                 roughness=0.36,
                 specular=0.045,
                 seed=seed_of(rng)),
        'nail':
        Material('nail', np.clip(nail, 0.01, 0.8).astype(np.float32), roughness=0.28, specular=0.05, seed=seed_of(rng)),
        'tongue':
        Material('tongue', np.array([0.45, 0.13, 0.12], np.float32), roughness=0.35, specular=0.045, seed=seed_of(rng)),
        'gum':
        Material('tongue', np.array([0.30, 0.07, 0.07], np.float32), roughness=0.35, specular=0.045, seed=seed_of(rng)),
        'teeth':
        Material('teeth',
                 np.array([white, 0.94 * white, 0.8 * white], np.float32),
                 roughness=0.25,
                 specular=0.05,
                 seed=seed_of(rng)),
        'eye':
        Material('eye',
                 _choice(rng, _IRIS, 2 if darkness > 0.6 and rng.random() < 0.9 else None),
                 roughness=0.08,
                 specular=0.04,
                 seed=seed_of(rng)),
    }


def hair_material(rng: np.random.Generator, darkness: float, old: bool) -> Material:
    """Hair: mostly dark on dark skin, often grey in age."""
    if old and rng.random() < 0.7:
        color = _vary(rng, np.array([0.42, 0.41, 0.40]), 0.3)
    else:
        color = _choice(rng, _HAIR, 3 if darkness > 0.55 and rng.random() < 0.92 else None)
    if rng.random() < 0.2:
        lights = np.asarray([np.clip(2.2 * color + 0.02, 0, 0.7)], np.float32)
        return Material('hair', color, 'highlights', lights, 0.01, 0.42, 0.045, seed_of(rng))
    return Material('hair', color, roughness=0.42, specular=0.045, seed=seed_of(rng))


def cloth_color(rng: np.random.Generator) -> np.ndarray:
    """A colour that clothes have."""
    return _vary(rng, np.asarray(_CLOTH[int(rng.integers(len(_CLOTH)))]), 0.25)


def fabric(rng: np.random.Generator, patterns: dict[str, float], color: np.ndarray | None = None) -> Material:
    """Cloth in one of ``patterns`` (name -> share)."""
    names, shares = list(patterns), np.asarray(list(patterns.values()), float)
    pattern = str(rng.choice(names, p=shares / shares.sum()))
    if pattern == 'denim':
        blue = _vary(rng, np.array([0.035, 0.06, 0.13]), 0.35)
        return Material('fabric', blue, 'denim', scale=0.01, roughness=0.9, specular=0.03, seed=seed_of(rng))
    color = cloth_color(rng) if color is None else color
    count = 3 if pattern in ('camouflage', 'print') else 1
    others = np.stack([cloth_color(rng) for _ in range(count)]) if pattern not in ('plain', 'knit') else np.zeros(
        (0, 3), np.float32)
    if pattern == 'camouflage':
        others = np.stack([
            _vary(rng, np.asarray(base), 0.15) for base in ((0.10, 0.12, 0.05), (0.16, 0.12, 0.07), (0.03, 0.035, 0.02))
        ])
        color = _vary(rng, np.array([0.24, 0.23, 0.13]), 0.15)
    scale = float(rng.uniform(*_PATTERN_SCALE.get(pattern, (0.05, 0.1))))
    return Material('fabric', color, pattern, others.astype(np.float32), scale, float(rng.uniform(0.75, 0.95)), 0.03,
                    seed_of(rng))


def leather(rng: np.random.Generator, color: np.ndarray | None = None) -> Material:
    """Leather of shoes, belts and bags."""
    if color is None:
        color = _vary(
            rng,
            np.asarray(((0.012, 0.011, 0.011), (0.10, 0.045, 0.02), (0.20, 0.10, 0.045),
                        (0.55, 0.53, 0.50))[int(rng.integers(4))]), 0.2)
    return Material('leather', color, roughness=float(rng.uniform(0.42, 0.65)), specular=0.04, seed=seed_of(rng))


def plain(rng: np.random.Generator, kind: str, color: np.ndarray, roughness: float, specular: float = 0.04) -> Material:
    """A plain material, such as rubber, metal or a lens."""
    return Material(kind, np.asarray(color, np.float32), roughness=roughness, specular=specular, seed=seed_of(rng))
