"""The engine Ray gives what the local one gives."""

from __future__ import annotations

import pytest
from curation.runs import curate, results, write_killed

from sapiens2.curation.ray_data import score_on_ray
from sapiens2.curation.score import PartScorer

pytest.importorskip('pyarrow')
pytest.importorskip('scipy')


@pytest.fixture
def cluster():
    ray = pytest.importorskip('ray')
    ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.slow
def test_ray_gives_what_one_process_gives(cluster, tmp_path):
    config = write_killed(tmp_path, 40)
    options = ('--cfg-options', 'stages.2.num_gpus=1')  # a group of its own
    assert curate(config, tmp_path / 'local', *options) == 0
    assert curate(config, tmp_path / 'ray', *options, '--engine', 'ray') == 0
    assert results(tmp_path / 'ray') == results(tmp_path / 'local')
    kept = sorted((tmp_path / 'ray/scores').iterdir())
    before = [path.stat().st_mtime_ns for path in kept]
    kept.pop(3).unlink()
    before.pop(3)
    assert curate(config, tmp_path / 'ray', *options, '--engine', 'ray') == 0
    assert [path.stat().st_mtime_ns for path in kept] == before
    assert results(tmp_path / 'ray') == results(tmp_path / 'local')


@pytest.mark.slow
@pytest.mark.parametrize('options, text', [
    ({'num_cpus': 4}, r'has 2 CPU.*needs 4 \(groups that begin with: Decode 4\): set num_cpus of the stages lower'),
    ({'num_gpus': 2}, r'has 1 GPU.*needs 2 \(groups that begin with: Quality 2\): set num_gpus of the stages lower')])
def test_a_cluster_that_is_too_small_is_an_error(cluster, tmp_path, options, text):
    stages = [{'type': 'Decode'}, {'type': 'Quality', **options}]
    scorer = PartScorer(source=None, images=1, chain_cfg={'stages': stages}, part_size=1, folder=tmp_path)
    with pytest.raises(ValueError, match=text):
        next(score_on_ray(scorer, [0]))
