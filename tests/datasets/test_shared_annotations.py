"""Workers share the annotations, whether they are forked or spawned."""

from __future__ import annotations

import gc
import pickle
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

from tiny_data import write_data

from sapiens2.datasets import CocoPoseDataset


def test_spawned_workers_get_a_handle_and_no_copy(tmp_path: Path) -> None:
    write_data('pose', tmp_path / 'data', 50)
    dataset = CocoPoseDataset(ann_file='people.json', data_root=str(tmp_path / 'data'), data_prefix=dict(img_path=''))
    before = [dataset.get_data_info(i)['sample_id'] for i in range(50)]
    sent = [bytes(ForkingPickler.dumps(dataset))]
    place = dataset.data_bytes.ctypes.data
    sent.append(bytes(ForkingPickler.dumps(dataset)))
    assert dataset.data_bytes.ctypes.data == place  # moved once, not once a worker
    content = dataset.data_bytes.tobytes()
    assert all(content[:200] not in message for message in sent)
    received = pickle.loads(sent[0])
    assert [received.get_data_info(i)['sample_id'] for i in range(50)] == before
    dataset.data_bytes[:] = 7  # seen on the other side, so the memory is one
    assert (received.data_bytes == 7).all()


def test_garbage_is_collected_again_after_reading(tmp_path: Path) -> None:
    write_data('pose', tmp_path / 'data')
    CocoPoseDataset(ann_file='people.json', data_root=str(tmp_path / 'data'), data_prefix=dict(img_path=''))
    assert gc.isenabled()
