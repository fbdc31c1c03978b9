"""Tar files, tables and metadata of images: read, or refused by name."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from fuzz.budget import fuzz, outcome
from fuzz.mutation import WILD, as_json, mutated, mutated_tree
from hypothesis import given
from hypothesis import strategies as st

from sapiens2.curation.columns import NAME, arrow_table
from sapiens2.curation.stages.metadata import METADATA, Metadata
from sapiens2.datasets import DataError
from sapiens2.datasets.pretrain.sidecars import fields_of
from sapiens2.datasets.pretrain.tar_index import index_tar
from sapiens2.models.checkpoints import CheckpointError
from sapiens2.models.checkpoints.sharded import FORMAT, open_sharded
from sapiens2.utils.image_io import ImageReadError
from sapiens2.utils.image_list import list_images, output_stems


def _tars() -> dict[str, bytes]:
    seeds = {}
    for name, form in (('ustar', tarfile.USTAR_FORMAT), ('gnu', tarfile.GNU_FORMAT), ('pax', tarfile.PAX_FORMAT)):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode='w', format=form) as tar:
            for member in ('a.jpg', 'a.json', 'ü' * 30 + '.png' if form == tarfile.PAX_FORMAT else 'b.png'):
                info = tarfile.TarInfo(member)
                info.size = 5
                tar.addfile(info, io.BytesIO(b'12345'))
        seeds[name] = buffer.getvalue()
    return seeds


@fuzz(250)
@given(mutated(_tars()))
def test_tar_files(content: bytes) -> None:
    found = outcome(lambda: index_tar(io.BytesIO(content), 'x.tar'), DataError)
    assert found is None or (found['offsets'] >= 0).all() and (found['sizes'] >= 0).all()
    assert found is None or (found['offsets'] + found['sizes'] <= len(content)).all()


FIELDS = dict(url='http://x/y', caption='someone', width=640, height=480, pwatermark=0.1, punsafe='0.2', nsfw='UNSURE',
              aesthetic=5.5, similarity=0.3, license='CC0', flag='true', number=7)


@fuzz(300)
@given(mutated_tree(FIELDS) | st.fixed_dictionaries({name: WILD for name in FIELDS}))
def test_metadata(tree: Any) -> None:
    stage = Metadata(fields=dict(flag='bool', number='int64'))

    def measure() -> None:
        record = {NAME: 'x.jpg', METADATA: fields_of({'json': as_json(tree)}, 'x.jpg')}
        stage.run([record])
        arrow_table([record], stage.outputs)

    outcome(measure, ImageReadError, ValueError)


@pytest.mark.parametrize('fields',
                         [dict(width=2**31), dict(number=-2**63 - 1), dict(caption='\ud800'), dict(width=1e40)])
def test_values_that_no_table_holds(fields: dict[str, Any]) -> None:
    record = {NAME: 'x.jpg', METADATA: fields_of({'json': as_json(fields)}, 'x.jpg')}
    with pytest.raises(ValueError, match='x.jpg: its metadata have .* which is no'):
        Metadata(fields=dict(number='int64')).run([record])


def test_large_whole_numbers_are_kept() -> None:
    for value in (2**53 + 1, str(2**53 + 1)):
        record = {NAME: 'x.jpg', METADATA: dict(number=value)}
        Metadata(fields=dict(number='int64')).run([record])
        assert record['meta_number'] == 2**53 + 1


def test_metadata_nested_without_end() -> None:
    with pytest.raises(ImageReadError, match='cannot be read'):
        fields_of({'json': b'[' * 200_000}, 'x.jpg')


MANIFEST = {'format': FORMAT, 'version': 1, 'files': {'a.safetensors': dict(bytes=3, crc32=4)}}


@fuzz(100)
@given(tree=mutated_tree(MANIFEST))
def test_manifests_of_checkpoints(tmp_path_factory: pytest.TempPathFactory, tree: Any) -> None:
    folder = tmp_path_factory.getbasetemp() / 'manifest'
    folder.mkdir(exist_ok=True)
    (folder / 'manifest.json').write_bytes(as_json(tree))
    outcome(lambda: open_sharded(folder), CheckpointError)


@pytest.mark.parametrize('text', [b'[' * 200_000, json.dumps({**MANIFEST, 'version': float('inf')}).encode()])
def test_manifests_that_break_parsers(tmp_path: Path, text: bytes) -> None:
    (tmp_path / 'manifest.json').write_bytes(text)
    with pytest.raises(CheckpointError, match='damaged manifest'):
        open_sharded(tmp_path)


@fuzz(150)
@given(content=st.binary(max_size=80) | st.text(max_size=60).map(lambda text: text.encode('utf-8', 'surrogatepass'))
       | st.lists(st.sampled_from(['a.jpg', '../a.jpg', '*', '[', '~', '-', '..', '/', 'x/**', '#', 'a.txt', 'é.png']),
                  max_size=4).map(lambda lines: '\n'.join(lines).encode()))
def test_lists_of_pictures(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / 'lists'
    (folder / 'deep').mkdir(parents=True, exist_ok=True)
    (folder / 'a.jpg').write_bytes(b'x')
    (folder / 'deep' / 'list.txt').write_bytes(content)
    files = outcome(lambda: list_images([folder / 'deep' / 'list.txt'], recursive=False, missing=[]), OSError)
    stems = output_stems(files or [])
    assert len({stem.casefold() for stem in stems}) == len(stems)
    assert not any(stem.startswith('/') or '..' in stem.split('/') for stem in stems)
