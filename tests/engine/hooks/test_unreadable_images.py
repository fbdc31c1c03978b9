"""Images that cannot be read: passed over in training, counted, named; fatal elsewhere."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from mmengine.config import Config
from torch.utils.data import DataLoader

from sapiens2.datasets import BaseHumanDataset, DataError, MixedDataset
from sapiens2.datasets.samplers import Draw, ResumableInfiniteSampler
from sapiens2.engine import Sapiens2Runner
from sapiens2.engine.hooks import UnreadableImagesHook
from sapiens2.registry import DATASETS
from sapiens2.structures import DataSample
from sapiens2.utils.image_io import ImageReadError

LIST = 'unreadable_images.jsonl'


@DATASETS.register_module(force=True)
class PartlyUnreadable(BaseHumanDataset):
    """Samples of 4 numbers; the images of ``bad`` cannot be read, the annotations of ``faulty`` are wrong."""

    def __init__(self, count: int = 10, bad: tuple[int, ...] = (), faulty: tuple[int, ...] = (), **kwargs: Any) -> None:
        self.count, self.bad, self.faulty = count, bad, faulty
        super().__init__(pipeline=[self.load], **kwargs)

    def load_data_list(self) -> list[dict]:
        return [{'number': number} for number in range(self.count)]

    def load(self, results: dict) -> dict[str, Any]:
        number = results['number']
        if number in self.bad:
            raise ImageReadError(f'{number}.jpg', 'cut off')
        if number in self.faulty:
            raise DataError(f'{number}.json: wrong')
        values = np.random.default_rng(number).standard_normal(4) + np.random.random()
        return dict(inputs=torch.tensor(values, dtype=torch.float32),
                    data_samples=DataSample(metainfo=dict(sample_id=f'{number}.jpg')))


ConfigMaker = Callable[..., Config]


def config(toy_cfg: ConfigMaker, name: str = 'run', hook: dict | None = None, **dataset: Any) -> Config:
    cfg = toy_cfg(name, train_dataloader__dataset=dict(type='PartlyUnreadable', _delete_=True, **dataset))
    cfg.custom_hooks.append(dict(type='UnreadableImagesHook', **(hook or {})))
    return cfg


def train(cfg: Config) -> Sapiens2Runner:
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


def listed(folder: str) -> dict[str, str]:
    lines = Path(folder, LIST).read_text(encoding='utf-8').splitlines()
    return {entry['path']: entry['reason'] for entry in map(json.loads, lines)}


def skipping(**kwargs: Any) -> PartlyUnreadable:
    dataset = PartlyUnreadable(**kwargs)
    dataset.skip_unreadable = True
    return dataset


def test_draw_of_an_unreadable_image_gives_another_sample() -> None:
    dataset = skipping(bad=(3, 4))
    found = [dataset[Draw(3, position, seed=1)]['data_samples'] for position in range(40)]
    names = [sample.sample_id for sample in found]
    assert not {'3.jpg', '4.jpg'} & {*names} and len({*names}) > 4  # not always the same
    assert names == [dataset[Draw(3, position, seed=1)]['data_samples'].sample_id for position in range(40)]
    assert all(sample.unreadable[0] == ('3.jpg', 'cut off') for sample in found)
    assert any(sample.unreadable[1:] == [('4.jpg', 'cut off')] for sample in found)  # the second try may fail, too
    assert 'unreadable' not in dataset[Draw(5, 0, 1)]['data_samples']


def test_other_faults_and_other_uses_are_errors() -> None:
    with pytest.raises(DataError, match='3.json: wrong'):
        skipping(faulty=(3,))[Draw(3, 0)]
    with pytest.raises(ImageReadError, match='3.jpg: cut off'):
        skipping(bad=(3,))[3]  # validation and test
    with pytest.raises(ImageReadError, match='3.jpg: cut off'):
        PartlyUnreadable(bad=(3,))[Draw(3, 0)]  # nobody would report it


def test_nothing_readable_ends_soon() -> None:
    with pytest.raises(DataError, match=r'none of the 16 images that were tried.*: 7\.jpg: cut off; .*; \.\.\.;'):
        skipping(count=500, bad=tuple(range(500)))[Draw(7, 0)]
    with pytest.raises(DataError, match='none of the 2 images'):
        skipping(count=2, bad=(0, 1))[Draw(1, 0)]
    assert skipping(count=2, bad=(0,))[Draw(0, 0)]['data_samples'].sample_id == '1.jpg'


@pytest.mark.parametrize('workers', [0, 2])
def test_batches_keep_their_size_and_order_whatever_the_workers(workers: int) -> None:
    dataset = skipping(bad=(2, 7))
    loader = DataLoader(dataset, batch_size=2, num_workers=workers, collate_fn=list,
                        sampler=ResumableInfiniteSampler(dataset, seed=5))
    batches = list(itertools.islice(loader, 10))
    assert all(len(batch) == 2 for batch in batches)
    samples = [sample['data_samples'] for batch in batches for sample in batch]
    assert sum(len(sample.get('unreadable', [])) for sample in samples) >= 4
    expected = [dataset[draw] for draw in itertools.islice(ResumableInfiniteSampler(dataset, seed=5), 20)]
    assert [sample.sample_id for sample in samples] == [sample['data_samples'].sample_id for sample in expected]


def test_mixture_stays_within_the_part() -> None:
    mixed = MixedDataset([PartlyUnreadable(count=2, bad=(0,)), PartlyUnreadable(count=50)])
    mixed.skip_unreadable = True
    assert mixed.skip_unreadable
    assert {mixed[Draw(0, position)]['data_samples'].sample_id for position in range(20)} == {'1.jpg'}


def test_run_names_each_file_once_and_goes_on(toy_cfg: ConfigMaker) -> None:
    runner = train(config(toy_cfg, bad=(2, 7)))
    assert listed(runner.work_dir) == {'2.jpg': 'cut off', '7.jpg': 'cut off'}
    log = next(Path(runner.work_dir).glob('*/*.log')).read_text()
    assert log.count('cannot read a training image, another is drawn in its place: 2.jpg: cut off') == 1
    assert f'{Path(runner.work_dir, LIST)} lists the files, 2 in number.' in log
    assert runner.train_loop.samples == 12


def test_name_that_is_not_utf8(toy_cfg: ConfigMaker, tmp_path: Path) -> None:
    name = os.fsdecode(b'caf\xe9-\xe4\xb8\xad.jpg')
    hook, runner = UnreadableImagesHook(), Sapiens2Runner.from_cfg(config(toy_cfg))
    hook._new, hook._new_samples = [(name, 'cut off')], 1
    hook._report(runner)
    hook._report(runner)
    text = (Path(runner.work_dir) / LIST).read_text(encoding='utf-8')
    assert '\u4e2d' in text and listed(runner.work_dir) == {name: 'cut off'}
    assert r'caf\udce9-' in next(Path(runner.work_dir).glob('*/*.log')).read_text(encoding='utf-8')


def test_resumed_run_equals_unbroken_run_and_keeps_the_list(toy_cfg: ConfigMaker) -> None:
    cfg = config(toy_cfg, 'whole', bad=(2, 7))
    cfg.default_hooks.checkpoint.interval = 3
    whole = train(cfg)
    again = config(toy_cfg, 'again', bad=(2, 7))
    again.load_from, again.resume = str(Path(whole.work_dir, 'iter_3.pth')), True
    Path(again.work_dir).mkdir()
    Path(again.work_dir, LIST).write_text(json.dumps({'path': 'earlier.jpg', 'reason': 'gone'}) + '\n')
    resumed = train(again)
    torch.testing.assert_close(resumed.bare_model.state_dict(), whole.bare_model.state_dict(), rtol=0, atol=0)
    assert 'earlier.jpg' in listed(resumed.work_dir)


def test_damaged_lines_of_the_list_are_left_out(toy_cfg: ConfigMaker) -> None:
    cfg = config(toy_cfg, bad=(2, 7))
    runner = Sapiens2Runner.from_cfg(cfg)
    lines = [json.dumps({'path': 'earlier.jpg', 'reason': 'gone'}), '[]', '{"path": "a.jpg"}', '{"path": "b.jpg", "rea']
    Path(cfg.work_dir, LIST).write_bytes('\n'.join(lines).encode() + b'\xff')
    with mock.patch.object(runner.logger, 'warning') as warning:
        runner.train()
    said = [call.args[0] for call in warning.call_args_list if 'is damaged and left out' in call.args[0]]
    assert [text.partition(': line ')[2][0] for text in said] == ['2', '3', '4']
    assert set(listed(cfg.work_dir)) == {'earlier.jpg', '2.jpg', '7.jpg'}


def test_too_many_stop_the_run_and_are_named(toy_cfg: ConfigMaker) -> None:
    cfg = config(toy_cfg, hook=dict(max_share=0.2, min_count=3), bad=tuple(range(5)))
    with pytest.raises(DataError, match=r'(?s)of the \d+ training images tried could not be read, more than the '
                                        r'20.00%.*\d\.jpg: cut off\n.*' + LIST):
        train(cfg)
    assert len(listed(cfg.work_dir)) >= 2
    train(config(toy_cfg, 'generous', hook=dict(max_share=0.9), bad=tuple(range(5))))
    train(config(toy_cfg, 'few', hook=dict(max_share=0.0, min_count=1000), bad=tuple(range(5))))


def test_accumulated_batches_are_all_looked_at(toy_cfg: ConfigMaker) -> None:
    cfg = config(toy_cfg, bad=(2, 7))
    cfg.optim_wrapper.accumulative_counts, cfg.train_cfg.max_iters = 5, 1
    assert len(listed(train(cfg).work_dir)) == 2


def test_validation_fails_on_one(toy_cfg: ConfigMaker) -> None:
    cfg = config(toy_cfg)
    cfg.val_dataloader.dataset = dict(type='PartlyUnreadable', bad=(4,))
    with pytest.raises(ImageReadError, match='4.jpg: cut off'):
        train(cfg)


def test_share_outside_its_range() -> None:
    with pytest.raises(ValueError, match='max_share must lie in'):
        UnreadableImagesHook(max_share=5)
