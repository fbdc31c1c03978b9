"""What is rendered: people as triangle meshes, their surroundings with lights, a camera.

World frame: metres, right-handed, x right, y up, z towards the viewer; the ground is y = 0; a person with heading 0
faces +z. Camera frame: x right, y down, z forward, as everywhere else in the project. Left and right are the person's
own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Material:
    """How a kind of surface looks.

    Attributes:
        kind: 'skin', 'lip', 'hair', 'fabric', 'leather', 'rubber', 'metal', 'lens', 'eye', 'teeth', 'tongue' or 'nail';
            'matter' for what surrounds people.
        color: (3,) linear RGB in [0, 1], the main albedo.
        pattern: name of a pattern of the albedo, 'plain' for none; ``colors`` and ``scale`` belong to it.
        colors: (n, 3) further colours of the pattern, linear RGB.
        scale: metres on the body that one period of the pattern takes.
        roughness: 0 (mirror) to 1 (matt).
        specular: reflectance at normal incidence.
        seed: of the pattern.
    """

    kind: str
    color: np.ndarray
    pattern: str = 'plain'
    colors: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    scale: float = 0.1
    roughness: float = 0.8
    specular: float = 0.04
    seed: int = 0


@dataclass(frozen=True)
class Mesh:
    """Triangles of one person, clothes and hair included.

    Attributes:
        vertices: (V, 3) float32, world frame.
        faces: (F, 3) int32, counter-clockwise seen from outside.
        normals: (V, 3) float32 unit vectors, smooth.
        rest: (V, 3) float32, metres: the place of the vertex on the unposed body, to which textures stick.
        labels: (F,) uint8, one of the 29 classes.
        materials: (F,) uint8, index in the person's materials.
    """

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    rest: np.ndarray
    labels: np.ndarray
    materials: np.ndarray


@dataclass(frozen=True)
class Person:
    """One person.

    Attributes:
        mesh, materials: see ``Mesh``.
        keypoints: (308, 3) float32, world frame, in the order of ``sapiens308``.
        on_surface: (308,) bool, False for points inside the body, such as the centre of a knee.
        description: phenotype, pose and clothes as plain numbers and names, for the manifest.
    """

    mesh: Mesh
    materials: tuple[Material, ...]
    keypoints: np.ndarray
    on_surface: np.ndarray
    description: dict


@dataclass(frozen=True)
class Camera:
    """A pinhole camera.

    Attributes:
        K: (3, 3) float64, pixels, pixel centres at integers.
        rotation: (3, 3) float64, from the world to the camera frame.
        position: (3,) float64, world frame.
        size: (H, W), pixels.
    """

    K: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    size: tuple[int, int]


@dataclass(frozen=True)
class Light:
    """A shining ball, which casts soft shadows.

    Attributes:
        position: (3,) metres, world frame; the sun is one far away.
        intensity: (3,) linear RGB; a surface facing it at d metres receives ``intensity`` / d ** 2.
        radius: metres.
    """

    position: np.ndarray
    intensity: np.ndarray
    radius: float


@dataclass(frozen=True)
class Surroundings:
    """Everything but the people and the camera.

    Attributes:
        environment: (h, 2 h, 3) float32 linear radiance from all directions, latitude by longitude: row 0 looks up, the
            columns go from -180 to 180 degrees of atan2(x, z). It lights everything, and is seen where no surface is
            unless there is a ``backdrop``.
        lights: lamps and the sun; they are not seen themselves.
        props: ground, walls, furniture; labels are 0 and ``rest`` is the place in the world.
        materials: those of the props.
        backdrop: (H, W, 3) float32 linear radiance behind everything, of the size of the picture, or None.
        catcher: what has the first material only receives shadows, laid over the backdrop.
        name: kind of surroundings, for the manifest.
    """

    environment: np.ndarray
    lights: tuple[Light, ...]
    props: Mesh
    materials: tuple[Material, ...]
    backdrop: np.ndarray | None = None
    catcher: bool = False
    name: str = ''
