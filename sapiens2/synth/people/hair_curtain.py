"""Long hair: a curtain that hangs from the head, outside neck and shoulders."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.people.hair_frame import HeadFrame
from sapiens2.synth.people.noise import waves
from sapiens2.synth.people.parts import Part, hem
from sapiens2.synth.people.shapes import grid_faces, rigid_part
from sapiens2.synth.people.surfaces import Surfaces
from sapiens2.synth.people.template import SKIN_COUNT, Template

# Height of the chin on the template.
_CHIN = 0.615


def _support(vertices: np.ndarray, centre: np.ndarray, heights: np.ndarray, columns: int) -> np.ndarray:
    """(rows, columns) how far the body reaches from the vertical axis through ``centre``, by height and by azimuth from
    the back."""
    step = abs(heights[1] - heights[0])
    apart = vertices[:, [0, 2]] - centre[[0, 2]]
    azimuth = np.arctan2(apart[:, 0], -apart[:, 1])
    column = np.round((azimuth + np.pi) / (2 * np.pi) * columns).astype(int) % columns
    row = np.round((heights[0] - vertices[:, 1]) / step).astype(int)
    reach = np.zeros((len(heights), columns))
    inside = (row >= 0) & (row < len(heights))
    np.maximum.at(reach, (row[inside], column[inside]), np.linalg.norm(apart[inside], axis=1))
    # The mesh is coarse: a cell without a vertex takes its neighbours' reach.
    grown = np.maximum.reduce([reach, np.roll(reach, 1, 1), np.roll(reach, -1, 1)])
    grown[1:] = np.maximum(grown[1:], np.where(reach[1:] == 0, grown[:-1], 0))
    return (np.roll(grown, 1, 1) + 2 * grown + np.roll(grown, -1, 1)) / 4


def curtain(rng: np.random.Generator, template: Template, surfaces: Surfaces, vertices: np.ndarray, frame: HeadFrame,
            length: float, thick: float) -> Part:
    """Hair that hangs from the sides and the back of the head, outside neck and shoulders."""
    rows, columns, bins = 22, 96, 40
    centre = frame.place(np.array([[0, 0.75, 0.015]]))[0]
    start = frame.place(np.array([[0, 0.785, 0.0]]))[0, 1]
    heights = np.linspace(start, start - length, rows)
    place = surfaces.skin.place
    trunk = vertices[:SKIN_COUNT][place.arms[:SKIN_COUNT] < 0.1]
    reach = _support(trunk, centre, heights, bins)
    half = np.deg2rad(rng.uniform(100, 128))
    azimuth = np.linspace(-half, half, columns)
    position = (azimuth + np.pi) / (2 * np.pi) * bins
    low = np.floor(position).astype(int)
    share = position - low
    body = (1 - share) * reach[:, low % bins] + share * reach[:, (low + 1) % bins]
    head = np.maximum.accumulate(body[:6].max(0)[None].repeat(rows, 0), axis=0)
    down = np.linspace(0, 1, rows)[:, None]
    # Hair falls straight from where the head is widest and gathers toward its ends; shoulders carry it only a little.
    hanging = head * (1 - rng.uniform(0.05, 0.22) * down**1.5)
    radius = np.maximum(hanging, np.minimum(body, 1.25 * head))
    # It comes out from below the hair of the crown, and at the face lies against the cheeks.
    off = (0.7 * thick + 0.006) * np.clip(6 * down, 0, 1) * np.clip(12 * (1 - np.abs(azimuth) / half), 0.25, 1)
    radius = np.where(down < 0.2, (1 - 5 * down) * body + 5 * down * radius, radius) + off
    ridges = waves(np.stack([
        np.broadcast_to(np.sin(azimuth), (rows, columns)).ravel(), 0.08 * np.repeat(heights, columns) * 4,
        np.broadcast_to(np.cos(azimuth), (rows, columns)).ravel()
    ], 1),
                   0.16,
                   rng,
                   8,
                   ridged=True).reshape(rows, columns)
    wave = float(rng.choice([0.0, 0.0, 0.006, 0.012]))
    radius = radius + 0.0035 * ridges * np.clip(3 * down, 0.1,
                                                1) + wave * np.sin(28 * down + 3 * np.sin(3 * azimuth)) * down
    ends = length * 0.06 * waves(np.stack([np.sin(azimuth), np.cos(azimuth), 0 * azimuth], 1), 0.25, rng, 6)
    # The strands nearest the face are cut shorter.
    ends = ends + length * 0.12 * np.clip((np.abs(azimuth) / half - 0.8) / 0.2, 0, 1)
    y = heights[:, None] + down * ends[None]
    points = np.stack([centre[0] + radius * np.sin(azimuth), y, centre[2] - radius * np.cos(azimuth)],
                      -1).reshape(-1, 3)
    faces = grid_faces(rows, columns)
    part = rigid_part(points, faces, template.bone('head'), len(template.bones))
    chin, shoulder = frame.place(np.array([[0, _CHIN + 0.02, 0], [0, 0.53, 0]]))[:, 1]
    on_head = np.clip((points[:, 1] - shoulder) / (chin - shoulder), 0, 1)
    weights = part.weights
    weights[:, template.bone('head')] = on_head
    weights[:, template.bone('spine01')] = 1 - on_head
    return hem(part, 0.01, part.normals)
