"""What a run writes of its config is what MMEngine would write, made once."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from mmengine.config import Config
from mmengine.config import config as mmengine_config

from sapiens2.utils.run_config import RunConfig

TEXT = 'model = dict(type=\'A\', size=(4, 3))\nname = \'a\'\n'


def test_text_is_made_again_only_for_another_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'a.py').write_text(TEXT, encoding='utf-8')
    made, make = [], mmengine_config.FormatCode
    monkeypatch.setattr(mmengine_config, 'FormatCode',
                        lambda *args, **kwargs: made.append(args) or make(*args, **kwargs))
    cfg, plain = RunConfig.read(tmp_path / 'a.py'), Config.fromfile(str(tmp_path / 'a.py'))
    assert cfg.filename == plain.filename and cfg.text == plain.text
    other = copy.deepcopy(cfg)
    for changed in (cfg, plain):
        changed.merge_from_dict({'model.size': (8, 6)})
    made.clear()
    texts = {cfg.pretty_text, copy.deepcopy(cfg).pretty_text, cfg.pretty_text}
    cfg.dump(tmp_path / 'dumped.py')
    assert len(made) == 1 and texts == {plain.pretty_text} == {(tmp_path / 'dumped.py').read_text(encoding='utf-8')}
    assert list(cfg) == list(plain) and cfg.to_dict() == plain.to_dict()
    assert '(\n        4,' in other.pretty_text and other.pretty_text != cfg.pretty_text
    assert pickle.loads(pickle.dumps(cfg)).pretty_text == cfg.pretty_text
