"""Cutting and joining of surfaces, on shapes small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.synth.people.parts import Part, border_edges, clip, clip_all, cut_faces, hem, join, vertex_normals
from sapiens2.synth.people.shapes import box, grid_faces, tube
from sapiens2.synth.people.subdivision import subdivided


def plane(rows: int = 5, columns: int = 6) -> Part:
    """A flat grid in x and y from 0 to 1, facing +z, moved by one bone."""
    y, x = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing='ij')
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], 1).astype(np.float32)
    faces = grid_faces(rows, columns)
    nothing = np.zeros(len(faces), np.uint8)
    return Part(points, points, np.ones((len(points), 1), np.float32), faces, nothing, nothing)


def area(points: np.ndarray, faces: np.ndarray) -> float:
    corners = points[faces]
    return float(
        np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum() / 2)


def volume(points: np.ndarray, faces: np.ndarray) -> float:
    """The volume inside a closed surface, positive where its faces look outward."""
    a, b, c = points[faces].transpose(1, 0, 2)
    return float((np.cross(a, b) * c).sum() / 6)


@pytest.mark.parametrize('at', [0.13, 0.5, 0.77])
def test_clip_keeps_exactly_the_positive_side(at: float) -> None:
    part = plane()
    kept = clip(part, at - part.rest[:, 0])
    assert area(kept.rest, kept.faces) == pytest.approx(at, abs=1e-5)
    assert kept.rest[:, 0].max() == pytest.approx(at, abs=1e-5)
    assert np.allclose(kept.normals, [0, 0, 1])
    assert np.allclose(kept.base, kept.rest)


def test_cut_faces_keeps_both_sides_and_their_vertices_shared() -> None:
    part = plane()
    cut = cut_faces(part.faces, part.rest[:, 0] + part.rest[:, 1] - 0.9)
    points = cut.grown(part.rest)
    assert area(points, cut.faces) == pytest.approx(1, abs=1e-5)
    assert area(points, cut.faces[~cut.inside]) == pytest.approx(0.405, abs=1e-5)
    # Only the outline of the plane is open: the sides share the vertices of the cut.
    edges = points[border_edges(cut.faces)]
    on_outline = np.isclose(edges, 0) | np.isclose(edges, 1)
    assert on_outline[..., :2].any(-1).all()


def test_clip_all_gives_the_least_field_and_the_normals_of_the_uncut_part() -> None:
    part = plane()
    kept, least, normals = clip_all(part, [part.rest[:, 0] - 0.2, 0.7 - part.rest[:, 1]])
    assert area(kept.rest, kept.faces) == pytest.approx(0.8 * 0.7, abs=1e-5)
    assert np.allclose(least, np.minimum(kept.rest[:, 0] - 0.2, 0.7 - kept.rest[:, 1]), atol=1e-6)
    assert np.allclose(normals, [0, 0, 1])


def test_hem_turns_the_border_inward_and_join_keeps_parts_apart() -> None:
    part = plane()
    hemmed = hem(part, 0.1, part.normals)
    assert hemmed.rest[:, 2].min() == pytest.approx(-0.1)
    assert area(hemmed.rest, hemmed.faces) == pytest.approx(1 + 4 * 0.1, abs=1e-5)
    both = join([part.painted(3, 1), hemmed.painted(4, 2)])
    assert len(both.rest) == len(part.rest) + len(hemmed.rest)
    assert set(zip(both.labels.tolist(), both.materials.tolist())) == {(3, 1), (4, 2)}


def test_closed_shapes_have_no_border_and_face_outward() -> None:
    points, faces = box(np.zeros(3), np.eye(3), np.array([1.0, 2.0, 0.5]))
    normals = vertex_normals(points, faces)
    assert ((normals * points).sum(1) > -1e-6).all()
    ring = np.stack([
        np.cos(np.linspace(0, 2 * np.pi, 24, endpoint=False)),
        np.sin(np.linspace(0, 2 * np.pi, 24, endpoint=False)),
        np.zeros(24)
    ], 1)
    points, faces = tube(ring, 0.1, 8, closed=True)
    assert np.allclose(np.hypot(np.hypot(points[:, 0], points[:, 1]) - 1, points[:, 2]), 0.1, atol=2e-3)
    assert volume(points, faces) == pytest.approx(2 * np.pi**2 * 0.01, rel=0.15)


def test_subdivision_keeps_a_plane_flat_and_its_weights_sum_to_one() -> None:
    quads = np.array([[0, 1, 4, 3], [1, 2, 5, 4], [3, 4, 7, 6], [4, 5, 8, 7]])
    y, x = np.meshgrid(np.arange(3.0), np.arange(3.0), indexing='ij')
    points = np.stack([x.ravel(), y.ravel(), 2 * x.ravel() - y.ravel()], 1)
    index, share, finer = subdivided(quads, 2)
    assert np.allclose(share.sum(1), 1)
    fine = np.einsum('nk,nkc->nc', share, points[index])
    assert np.allclose(fine[:, 2], 2 * fine[:, 0] - fine[:, 1])
    assert len(finer) == 64 and finer.max() == len(fine) - 1
