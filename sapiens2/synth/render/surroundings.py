"""Surroundings drawn at random: rooms, open air, studios, plain backdrops, pictures of the user."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.synth.render import skies
from sapiens2.synth.render.cameras import pixel_grid
from sapiens2.synth.render.noise import fractal
from sapiens2.synth.render.props import Props, matter
from sapiens2.synth.render.rooms import build_room
from sapiens2.synth.render.seats import add_seats
from sapiens2.synth.scene import Camera, Light, Material, Person, Surroundings
from sapiens2.utils.srgb import to_linear
from sapiens2.utils.suggest import UnknownNameError, unknown_name

# Share of pictures of each kind.
SHARES = {'room': 0.45, 'outdoor': 0.3, 'studio': 0.13, 'backdrop': 0.12}
# Pattern and two colours of grass, asphalt, sand, paving stones, bricks.
GROUNDS = (('ground', (0.06, 0.11, 0.025), (0.11, 0.14, 0.05)), ('ground', (0.1, 0.1, 0.1), (0.07, 0.07, 0.075)),
           ('ground', (0.4, 0.31, 0.2), (0.3, 0.22, 0.14)), ('tiles', (0.3, 0.29, 0.27), (0.16, 0.15, 0.14)),
           ('bricks', (0.28, 0.15, 0.11), (0.2, 0.18, 0.16)))


def sample_surroundings(rng: np.random.Generator, persons: Sequence[Person], camera: Camera, kind: str | None = None,
                        background: np.ndarray | None = None) -> Surroundings:
    """Surroundings with lights for people who stand on the ground.

    Args:
        rng: source of chance.
        persons: at least one.
        camera: rooms are built around it, and backdrops have its size.
        kind: one of ``SHARES``, None to draw it.
        background: (H, W, 3) uint8 sRGB picture of the camera's size to put people in front of, without ``kind``.
    """
    if kind is not None and kind not in SHARES:
        raise UnknownNameError(unknown_name(kind, SHARES, 'kind of surroundings'))
    if background is not None:
        if background.shape != (*camera.size, 3) or background.dtype != np.uint8:
            raise ValueError(f'a background must be uint8 of shape {(*camera.size, 3)}, as the picture; this one is '
                             f'{background.dtype} of shape {background.shape}: resize it first')
        return _before(rng, persons, camera, to_linear(background), 'picture')
    if kind is None:
        kind = str(rng.choice(list(SHARES), p=list(SHARES.values())))
    if kind == 'backdrop':
        return _before(rng, persons, camera, _noise_picture(rng, camera), kind)
    return {'room': build_room, 'outdoor': _outdoor, 'studio': _studio}[kind](rng, persons, camera)


def lamp(rng: np.random.Generator, target: np.ndarray, strength: float, warmth: float, azimuth: float,
         height: tuple[float, float], distance: tuple[float, float], radius: tuple[float, float]) -> Light:
    """A lamp that gives ``target`` (3,) ``strength`` times the light that a map of radiance 1 does.

    Args:
        rng: source of chance within the ranges.
        target: metres.
        strength: see above.
        warmth: see ``skies.color_of_warmth``.
        azimuth: atan2(x, z) of the lamp as seen from the target.
        height, distance, radius: ranges in metres; height above the ground.
    """
    reach = rng.uniform(*distance)
    x, z = target[[0, 2]] + reach * np.array([np.sin(azimuth), np.cos(azimuth)])
    position = np.array([x, rng.uniform(*height), z])
    square = float(np.sum((position - target)**2))
    return Light(position, (strength * np.pi * square * skies.color_of_warmth(warmth)).astype(np.float32),
                 float(rng.uniform(*radius)))


def middle_of(persons: Sequence[Person]) -> np.ndarray:
    """(3,) middle of all people's bounding box, metres."""
    low = np.min([person.mesh.vertices.min(0) for person in persons], 0)
    return ((low + np.max([person.mesh.vertices.max(0) for person in persons], 0)) / 2).astype(np.float64)


def _outdoor(rng: np.random.Generator, persons: Sequence[Person], camera: Camera) -> Surroundings:
    """Open ground under a sky, sunny or not, with a few blocks far behind."""
    middle = middle_of(persons)
    pattern, color, other = GROUNDS[rng.integers(len(GROUNDS))]
    ground = matter(rng, color, pattern, [other], scale=float(rng.uniform(0.2, 0.6)))
    sun, lights = None, []
    if rng.random() < 0.65:
        azimuth, elevation = rng.uniform(-np.pi, np.pi), rng.uniform(0.25, 1.2)
        sun = np.array([np.sin(azimuth) * np.cos(elevation), np.sin(elevation), np.cos(azimuth) * np.cos(elevation)])
        strength = rng.uniform(1.2, 3.5)
        color = skies.color_of_warmth(rng.uniform(0.1, 0.3) + 0.5 * max(0.6 - elevation, 0))
        lights.append(Light(middle + sun * 1000, (strength * np.pi * 1e6 * color).astype(np.float32),
                            float(rng.uniform(4, 18))))
    environment = skies.outdoor(rng, np.asarray(ground.color), sun)
    props = Props()
    materials = [ground]
    x, z = middle[0], middle[2]
    props.quad([[x - 80, 0, z + 80], [x + 80, 0, z + 80], [x + 80, 0, z - 80], [x - 80, 0, z - 80]], 0)
    add_seats(rng, props, materials, persons)
    ahead = np.arctan2(*(middle - camera.position)[[0, 2]])
    for _ in range(rng.integers(0, 5)):
        azimuth, distance = ahead + rng.normal(0, 0.7), rng.uniform(7, 30)
        size = rng.uniform([1.5, 2, 1.5], [7, 8, 7])
        place = np.array([x + distance * np.sin(azimuth), 0, z + distance * np.cos(azimuth)])
        materials.append(matter(rng, rng.uniform(0.12, 0.6) * (1 + rng.uniform(-0.2, 0.2, 3)),
                                str(rng.choice(['bricks', 'plaster', 'tiles'])), [rng.uniform(0.1, 0.5, 3)],
                                scale=float(rng.uniform(0.3, 0.9))))
        props.box(place - size * [0.5, 0, 0.5], place + size * [0.5, 1, 0.5], len(materials) - 1)
    return Surroundings(environment, tuple(lights), props.mesh(), tuple(materials), name='outdoor')


def _studio(rng: np.random.Generator, persons: Sequence[Person], camera: Camera) -> Surroundings:
    """A paper background that bends into the floor, two or three lamps."""
    middle = middle_of(persons)
    tone = rng.uniform(0.03, 0.75)
    color = np.clip(tone * (1 + rng.normal(0, 0.08 if rng.random() < 0.7 else 0.4, 3)), 0.01, 0.8)
    paper = matter(rng, color, 'plain')
    props, materials = Props(), [paper]
    ahead = (middle - camera.position) * [1, 0, 1]
    ahead /= max(np.linalg.norm(ahead), 1e-6)
    right = np.array([-ahead[2], 0, ahead[0]])
    behind, bend = rng.uniform(1.2, 3.0), rng.uniform(0.5, 1.0)
    # Way behind the people, height and slope of the paper.
    profile = [(behind + bend * np.sin(a), bend * (1 - np.cos(a)), a) for a in np.linspace(0, np.pi / 2, 9)]
    profile = [(-30.0, 0.0, 0.0), *profile, (behind + bend, 30.0, np.pi / 2)]
    foot = middle * [1, 0, 1]
    for (start, low, slope), (end, high, steep) in zip(profile[:-1], profile[1:]):
        first, second = foot + start * ahead + [0, low, 0], foot + end * ahead + [0, high, 0]
        up, tilted = ([0, np.cos(a), 0] - np.sin(a) * ahead for a in (slope, steep))
        props.quad([first - 30 * right, first + 30 * right, second + 30 * right, second - 30 * right], 0,
                   [up, up, tilted, tilted])
    add_seats(rng, props, materials, persons)
    towards = np.arctan2(*-ahead[[0, 2]])
    side = rng.choice([-1, 1])
    key = rng.uniform(1.0, 2.8)
    lights = [lamp(rng, middle, key, rng.uniform(-0.1, 0.3), towards + side * rng.uniform(0.3, 1.2), (1.5, 3), (1.5, 3),
                   (0.1, 0.6)),
              lamp(rng, middle, key * rng.uniform(0.1, 0.5), rng.uniform(-0.3, 0.3),
                   towards - side * rng.uniform(0.4, 1.3), (1, 2.5), (1.5, 3), (0.3, 0.8))]
    if rng.random() < 0.6:
        lights.append(lamp(rng, middle, rng.uniform(0.5, 2), rng.uniform(-0.4, 0.4),
                           towards + np.pi + side * rng.uniform(0.3, 1.0), (1.8, 3), (0.8, 1.3), (0.1, 0.3)))
    environment = skies.studio(rng, np.asarray(paper.color))
    return Surroundings(environment, tuple(lights), props.mesh(), tuple(materials), name='studio')


def _before(rng: np.random.Generator, persons: Sequence[Person], camera: Camera, backdrop: np.ndarray,
            name: str) -> Surroundings:
    """People in front of a picture, lit as it suggests; the ground they stand on only receives shadows."""
    # Things reflect a third of the light, or less: the light is that much brighter than the picture.
    backdrop = (backdrop * (0.33 / max(float(backdrop.mean()), 0.02))).astype(np.float32)
    middle = middle_of(persons)
    forward = camera.rotation[2]
    props = Props()
    x, z = middle[0], middle[2]
    props.quad([[x - 5, 0, z + 5], [x + 5, 0, z + 5], [x + 5, 0, z - 5], [x - 5, 0, z - 5]], 0)
    materials = [Material('matter', np.clip(backdrop[-backdrop.shape[0] // 4:].mean((0, 1)), 0.05, 0.6))]
    add_seats(rng, props, materials, persons)
    lights = [lamp(rng, middle, rng.uniform(0.3, 2.2), rng.uniform(-0.1, 0.3),
                   np.arctan2(*-forward[[0, 2]]) + rng.uniform(-1.7, 1.7), (2, 5), (2, 5), (0.15, 0.9))]
    return Surroundings(skies.of_picture(backdrop, forward), tuple(lights), props.mesh(), tuple(materials),
                        backdrop=backdrop, catcher=True, name=name)


def _noise_picture(rng: np.random.Generator, camera: Camera) -> np.ndarray:
    """(H, W, 3) soft colours, like a painted canvas or something far out of focus."""
    place = pixel_grid(camera.size).astype(np.float32) / max(camera.size)
    place = np.concatenate([place, np.zeros_like(place[:, :1])], 1)
    clouds = fractal(place, float(rng.uniform(0.1, 0.6)), int(rng.integers(1, 5)), int(rng.integers(2**31)))
    base, other = rng.uniform(0.1, 0.8, (2, 1)) * (1 + rng.normal(0, rng.choice([0.1, 0.3]), (2, 3)))
    share = 0.5 + 0.5 * clouds[:, :1] * rng.uniform(0.3, 1.6)
    light = 1 + 0.35 * clouds[:, 1:2] - 0.5 * ((place[:, :2] - place[:, :2].mean(0))**2).sum(1, keepdims=True)
    return (np.clip(base + share * (other - base), 0.02, 1) * light).reshape(*camera.size, 3).astype(np.float32)
