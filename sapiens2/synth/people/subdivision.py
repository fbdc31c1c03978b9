"""Catmull-Clark subdivision as weights on the vertices of the coarse mesh, so that it is done once for all bodies.

E. Catmull, J. Clark, "Recursively generated B-spline surfaces on arbitrary topological meshes", 1978; borders as in the
usual cubic B-spline rule, here slightly simplified: a border vertex keeps three quarters of itself.
"""

from __future__ import annotations

import numpy as np


def subdivided(quads: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N, K) indices into the vertices of ``quads`` and their weights, and the (F, 4) quads on the N finer points."""
    used = np.unique(quads)
    matrix = {int(vertex): {int(vertex): 1.0} for vertex in used}
    rows = [matrix[int(vertex)] for vertex in used]
    local = np.searchsorted(used, quads)
    for _ in range(times):
        rows, local = _catmull_clark(rows, local)
    width = max(len(row) for row in rows)
    index, share = np.zeros((len(rows), width), np.int32), np.zeros((len(rows), width), np.float32)
    for i, row in enumerate(rows):
        index[i, :len(row)], share[i, :len(row)] = list(row), list(row.values())
    return index, share, local


def _catmull_clark(rows: list[dict[int, float]], quads: np.ndarray) -> tuple[list[dict[int, float]], np.ndarray]:
    """One step; ``rows``: of each vertex its weights on the original ones."""

    def mix(parts: list[tuple[dict[int, float], float]]) -> dict[int, float]:
        mixed: dict[int, float] = {}
        for row, factor in parts:
            for key, value in row.items():
                mixed[key] = mixed.get(key, 0.0) + factor * value
        return mixed

    count = len(rows)
    face_rows = [mix([(rows[v], 0.25) for v in quad]) for quad in quads]
    edge_faces: dict[tuple[int, int], list[int]] = {}
    for face, quad in enumerate(quads):
        for a, b in zip(quad, np.roll(quad, -1)):
            edge_faces.setdefault((min(a, b), max(a, b)), []).append(face)
    edge_index = {edge: count + len(quads) + i for i, edge in enumerate(edge_faces)}
    edge_rows = []
    vertex_faces: list[set[int]] = [set() for _ in range(count)]
    vertex_edges: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    border: list[list[int]] = [[] for _ in range(count)]
    for (a, b), faces in edge_faces.items():
        if len(faces) == 2:
            edge_rows.append(
                mix([(rows[a], 0.25), (rows[b], 0.25), (face_rows[faces[0]], 0.25), (face_rows[faces[1]], 0.25)]))
        else:
            edge_rows.append(mix([(rows[a], 0.5), (rows[b], 0.5)]))
            border[a].append(b)
            border[b].append(a)
        for v in (a, b):
            vertex_faces[v] |= set(faces)
            vertex_edges[v].append((a, b))
    vertex_rows = []
    for v in range(count):
        n = len(vertex_faces[v])
        if border[v]:
            vertex_rows.append(mix([(rows[v], 0.75)] + [(rows[w], 0.25 / len(border[v])) for w in border[v]]))
            continue
        middles = [(rows[a if b == v else b], 0.5)
                   for a, b in vertex_edges[v]] + [(rows[v], 0.5 * len(vertex_edges[v]))]
        vertex_rows.append(
            mix([(face_rows[f], 1 / n**2)
                 for f in vertex_faces[v]] + [(row, 2 * w / n**2) for row, w in middles] + [(rows[v], (n - 3) / n)]))
    finer = [[
        quad[k], edge_index[min(quad[k], quad[(k + 1) % 4]),
                            max(quad[k], quad[(k + 1) % 4])], count + face, edge_index[min(quad[k], quad[k - 1]),
                                                                                       max(quad[k], quad[k - 1])]
    ] for face, quad in enumerate(quads) for k in range(4)]
    return vertex_rows + face_rows + edge_rows, np.asarray(finer, np.int32)
