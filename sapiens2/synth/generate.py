"""Make sample number i of a generated set, from the seed and i alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Optional

import numpy as np
from threadpoolctl import ThreadpoolController

from sapiens2.synth.crowd import CROWD, make_people
from sapiens2.synth.folder import SynthFolder
from sapiens2.synth.render import render, sample_camera, sample_photo, sample_shot, sample_surroundings
from sapiens2.synth.render.framing import FOCAL_LENGTHS, SHOTS
from sapiens2.synth.sample import Sample
from sapiens2.synth.scene import Camera, Person
from sapiens2.utils.image_io import read_image
from sapiens2.utils.resample import cover

# A picture shows people on at least this share of its pixels; a camera that misses them is drawn again.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Recipe:
    """What the samples of a set are made with.

    Attributes:
        seed: another seed gives other people.
        size: (H, W), pixels.
        backgrounds: pictures to put people in front of, in place of made-up places.
        most_people: in a picture, 1 to 4.
        shots: kinds of ``SHOTS`` that are drawn.
        focal_lengths: shortest and longest, millimetres on a frame 36 mm wide, along the longer side.
        pictures_per_person: so many samples in a row show the same people, each in another pose, place and light.
    """

    seed: int
    size: tuple[int, int]
    backgrounds: tuple[str, ...] = field(default=())
    most_people: int = len(CROWD)
    shots: tuple[str, ...] = tuple(SHOTS)
    focal_lengths: tuple[float, float] = FOCAL_LENGTHS
    pictures_per_person: int = 1

    def __call__(self, index: int) -> Sample:
        """Sample ``index``, the same whatever was made before."""
        rng = np.random.default_rng([self.seed, index])
        group = index // self.pictures_per_person
        # Zeros at the end of a seed count for nothing, so people are numbered from 1.
        people = make_people(
            rng, self.most_people, lambda number: np.random.default_rng([self.seed, group, 1 + number]))
        while True:
            shot = sample_shot(rng, self.shots)
            camera = sample_camera(rng, people, self.size, shot, self.focal_lengths)
            surroundings = sample_surroundings(rng, people, camera, background=self._background(rng))
            picture = render(people, camera, surroundings, rng, sample_photo(rng, self.size))
            if picture['mask'].mean() >= LEAST_SHARE:
                break
        return Sample(
            image=picture['image'][..., ::-1], labels=picture['sem_seg'], instances=picture['instance'],
            normal=picture['normal'], depth=picture['depth'], albedo=picture['albedo'], K=picture['K'],
            people=_describe(picture, people, f'{self.seed}-{group}'),
            scene=_describe_scene(camera, surroundings.name, shot))

    def _background(self, rng: np.random.Generator) -> Optional[np.ndarray]:
        """(H, W, 3) uint8 RGB."""
        if not self.backgrounds:
            return None
        image = read_image(self.backgrounds[rng.integers(len(self.backgrounds))])
        return cover(image, self.size, *rng.random(2))[..., ::-1]


@dataclass(frozen=True)
class Maker:
    """Makes a sample and writes its files; the record of them. It goes to the processes that work."""

    recipe: Recipe
    folder: SynthFolder

    def __call__(self, index: int) -> dict[str, Any]:
        """Make and write sample ``index``."""
        # Sums of matrix products depend on the number of threads in their last bit, and the bytes must not.
        with _thread_pools().limit(limits=1, user_api='blas'):
            return self.folder.write(index, self.recipe(index).files())


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def _describe(picture: dict[str, Any], people: Sequence[Person], group: str) -> list[dict[str, Any]]:
    """What is known of each person of whom something is seen; ``group`` names who may be in the picture."""
    described = []
    for number, (person, seen) in enumerate(zip(people, picture['persons']), 1):
        if seen['area']:
            x0, y0, x1, y1 = np.round(seen['bbox'].astype(float), 3).tolist()
            points = np.column_stack((np.round(seen['keypoints'].astype(float), 3), seen['visibility']))
            described.append({
                'instance': number, 'bbox': [x0, y0, x1 - x0, y1 - y0], 'area': seen['area'],
                'keypoints': points.tolist(), 'keypoints_3d': np.round(seen['keypoints_3d'].astype(float), 5).tolist(),
                'description': {'identity': f'{group}-{number}', **person.description}})
    return described


def _describe_scene(camera: Camera, place: str, shot: str) -> dict[str, Any]:
    return {'size': list(camera.size), 'place': place, 'shot': shot, 'rotation': camera.rotation.tolist(),
            'position': camera.position.tolist()}
