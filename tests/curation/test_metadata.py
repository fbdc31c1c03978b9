"""Fields of the source as columns: addresses, captions, and scores that others have made."""

from __future__ import annotations

import io
import json
import tarfile

import cv2
import numpy as np
import pytest

from sapiens2.cli.main import main
from sapiens2.curation.chain import Chain
from sapiens2.curation.source import Source
from sapiens2.curation.stages import Metadata
from sapiens2.curation.stages.decode import Decode

arrow = pytest.importorskip('pyarrow')
pytest.importorskip('scipy')
FIELDS = [{'url': f'http://a.example/{number}.jpg', 'caption': f'picture {number}', 'original_width': 100 + number,
           'pwatermark': number / 10, 'NSFW': 'UNLIKELY', 'rating': number} for number in range(6)]


def contents():
    rng = np.random.default_rng(0)
    return [cv2.imencode('.jpg', cv2.resize(rng.integers(0, 256, (7, 6, 3), dtype=np.uint8), (120, 140),
                                            interpolation=cv2.INTER_CUBIC))[1].tobytes() for _ in FIELDS]


def folder(root):
    for number, (content, fields) in enumerate(zip(contents(), FIELDS)):
        (root / f'{number}.jpg').write_bytes(content)
        others = {name: value for name, value in fields.items() if name != 'caption'}
        (root / f'{number}.json').write_text(json.dumps(others), encoding='utf-8')
        (root / f'{number}.txt').write_text(fields['caption'], encoding='utf-8')
    return {'type': 'PretrainFolderDataset', 'data_root': str(root)}


def shards(root):
    with tarfile.open(root / '0.tar', 'w') as tar:
        for number, (content, fields) in enumerate(zip(contents(), FIELDS)):
            for ending, data in (('txt', fields['caption'].encode()), ('jpg', content), ('json', json.dumps(
                    {**fields, 'caption': None}).replace('"caption": null, ', '').encode())):
                member = tarfile.TarInfo(f'some/{number:05d}.{ending}')
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return {'type': 'PretrainShardsDataset', 'data_root': str(root)}


def parquet(root):
    import pyarrow.parquet
    table = arrow.table({'image': contents(), 'vector': [[0.0]] * len(FIELDS), **{
        name.upper(): [fields[name] for fields in FIELDS] for name in FIELDS[0]}})
    pyarrow.parquet.write_table(table, root / '0.parquet', row_group_size=2)
    return {'type': 'PretrainParquetDataset', 'data_root': str(root)}


@pytest.fixture(params=[folder, shards, parquet])
def source(request, tmp_path):
    root = tmp_path / 'images'
    root.mkdir()
    return request.param(root)


def columns(source, tmp_path, **options):
    opened = Source(source, tmp_path / 'index')
    records = [opened.record(index, metadata=True) for index in range(len(opened))]
    Chain([Metadata(**options)]).run(records)
    return records


def test_fields_of_every_kind_of_source_are_columns(source, tmp_path):
    records = columns(source, tmp_path, fields={'rating': 'int32'})
    assert [record['meta_url'] for record in records] == [fields['url'] for fields in FIELDS]
    assert [record['meta_caption'] for record in records] == [fields['caption'] for fields in FIELDS]
    assert [record['meta_width'] for record in records] == list(range(100, 106))
    assert [record['meta_pwatermark'] for record in records] == pytest.approx([number / 10 for number in range(6)])
    assert {record['meta_nsfw'] for record in records} == {'UNLIKELY'} and records[3]['meta_rating'] == 3
    assert {record['meta_similarity'] for record in records} == {None}


def test_filters_on_metadata_save_decoding_and_columns_are_written(source, tmp_path, monkeypatch):
    import pyarrow.parquet
    decoded, run = [], Decode.run
    monkeypatch.setattr(Decode, 'run', lambda self, records: (decoded.extend(records), run(self, records))[1])
    config = tmp_path / 'curation.py'
    config.write_text(f'''
source = {source!r}
stages = [dict(type='Metadata'), dict(type='Decode'), dict(type='Hashes')]
filters = [dict(type='Limit', column='meta_pwatermark', at_most=0.25, missing='keep')]
''', encoding='utf-8')
    assert main(['curate', str(config), '--out', str(tmp_path / 'out'), '--workers', '1']) == 0
    assert len(decoded) == 3
    shard, = (tmp_path / 'out/shards').glob('*.parquet')
    table = pyarrow.parquet.read_table(shard)
    assert sorted(table['meta_caption'].to_pylist()) == ['picture 0', 'picture 1', 'picture 2']
    assert 'metadata' not in table.column_names


def made(fields):
    record = {'index': 0, 'name': 'a.jpg', 'content': b'', 'metadata': fields}
    Chain([Metadata(fields={'good': 'bool', 'count': 'int64'})]).run([record])
    return record


def test_values_become_those_of_the_column():
    record = made({'URL': 'u', 'TEXT': 't', 'width': '640', 'height': float('nan'), 'AESTHETIC_SCORE': '5.5',
                   'good': 'False', 'count': 3.0, 'similarity': ''})
    assert [record[f'meta_{name}'] for name in (
        'url', 'caption', 'width', 'height', 'aesthetic', 'good', 'count', 'similarity')] == [
        'u', 't', 640, None, 5.5, False, 3, None]


def test_values_that_are_of_another_kind_are_named():
    assert "'many' for meta_count, which is no int64" in made({'count': 'many'})['error']
    with pytest.raises(ValueError, match="Did you mean 'float32'"):
        Metadata(fields={'rating': 'float'})


@pytest.mark.parametrize(('text', 'reason'), [('{', 'cannot be read'), ('[1]', 'holds list')])
def test_damaged_metadata_put_their_image_in_quarantine(tmp_path, text, reason):
    source = folder(tmp_path)
    (tmp_path / '2.json').write_text(text)
    opened = Source(source, tmp_path / 'index')
    assert reason in opened.record(2, metadata=True)['error']
    assert 'error' not in opened.record(2) and 'error' not in opened.record(1, metadata=True)


@pytest.mark.parametrize(('kind', 'value'), [
    ('int32', '3.5'), ('int32', 3.5), ('int32', True), ('float32', '1e400'), ('float32', 1e39), ('float32', 'inf'),
    ('string', ['a']), ('string', {'a': 1}), ('bool', 5), ('bool', [1]), ('bool', 'perhaps')])
def test_values_are_not_bent_to_the_type(kind, value):
    record = {'index': 0, 'name': 'a.jpg', 'content': b'', 'metadata': {'rating': value}}
    Chain([Metadata(fields={'rating': kind})]).run([record])
    assert f'for meta_rating, which is no {kind}' in record['error']


@pytest.mark.parametrize(('kind', 'value', 'expected'), [
    ('int32', '3.0', 3), ('float32', 3, 3.0), ('float32', '-1e38', -1e38), ('string', 2023, '2023'), ('bool', 1, True),
    ('bool', 0.0, False), ('bool', float('nan'), None), ('string', float('nan'), None), ('float32', 'nan', None)])
def test_values_that_can_be_of_the_type(kind, value, expected):
    record = {'index': 0, 'name': 'a.jpg', 'content': b'', 'metadata': {'rating': value}}
    Chain([Metadata(fields={'rating': kind})]).run([record])
    assert not record.get('error') and record['meta_rating'] == expected
