"""Both stages of training and the commands around them, by XTuner itself. Needs the environment of setup_env.sh."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from PIL import Image

pytest.importorskip('xtuner', reason='XTuner is missing: bash projects/xtuner_llava/setup_env.sh')

from projects.xtuner_llava.conversation_dataset import ConversationDataset  # noqa: E402
from projects.xtuner_llava.image_processor import Sapiens2ImageProcessor  # noqa: E402
from projects.xtuner_llava.loading import load_speaker  # noqa: E402
from projects.xtuner_llava.make_tiny_llm import train_tokenizer  # noqa: E402
from sapiens2.datasets.errors import DataError  # noqa: E402
from sapiens2.models.checkpoints import CheckpointError  # noqa: E402

ROOT = Path(__file__).parents[3]
CONFIGS = ROOT / 'projects/xtuner_llava/configs'
PRETRAIN = CONFIGS / 'pretrain/llava_tiny_llama_sapiens2_tiny_128x96_pretrain.py'
FINETUNE = CONFIGS / 'finetune/llava_tiny_llama_sapiens2_tiny_128x96_finetune.py'
QUESTION, ANSWER = 'How many people are in the picture?', 'There is one person.'
OPTIONS = ('train_cfg.max_iters=2', 'train_dataloader.batch_size=2', 'train_dataloader.num_workers=0',
           'default_hooks.checkpoint.interval=2', 'default_hooks.logger.interval=1', 'custom_hooks.1.max_new_tokens=4')


def records(count: int = 4) -> list[dict]:
    return [{'id': str(index), 'image': f'val/images/{index:06}.jpg', 'conversations': [
        {'from': 'human', 'value': f'<image>\n{QUESTION}'}, {'from': 'gpt', 'value': ANSWER},
        {'from': 'human', 'value': 'Where?'}, {'from': 'gpt', 'value': 'In a room.'}]} for index in range(count)]


@pytest.fixture(scope='module')
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the root of the repository after the commands of the README."""
    place = tmp_path_factory.mktemp('place')
    (place / 'sapiens2').symlink_to(ROOT / 'sapiens2')
    (place / 'data/synth/val/images').mkdir(parents=True)
    (place / 'data/llava').mkdir()
    for index in range(4):
        array = np.random.default_rng(index).integers(0, 255, (60, 50, 3), dtype=np.uint8)
        Image.fromarray(array).save(place / f'data/synth/val/images/{index:06}.jpg')
    for kind in ('captions', 'dialogues'):
        (place / f'data/llava/train_{kind}.json').write_text(json.dumps(records()))
    run(place, '-m', 'projects.xtuner_llava.make_tiny_llm', 'data/llava/train_captions.json', '--out',
        'data/tiny_llama', '--width', '32', '--layers', '1')
    return place


def run(place: Path, *words: object) -> str:
    done = subprocess.run([sys.executable, *map(str, words)], cwd=place, capture_output=True, text=True,
                          env={**os.environ, 'PYTHONPATH': str(ROOT), 'OMP_NUM_THREADS': '1',
                               # To resume, XTuner and MMEngine load pickles that torch >= 2.6 refuses by default.
                               'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD': '1'})
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope='module')
def trained(place: Path) -> Path:
    """The checkpoint of the second stage, which starts from that of the first."""
    run(place, '-m', 'xtuner.tools.train', PRETRAIN, '--work-dir', 'one', '--cfg-options', *OPTIONS)
    log = run(place, '-m', 'xtuner.tools.train', FINETUNE, '--work-dir', 'two', '--cfg-options', *OPTIONS,
              'model.pretrained_pth=one/iter_2.pth')
    assert 'Load pretrained weight from one/iter_2.pth' in log and 'Iter(train) [2/2]' in log and 'loss:' in log
    return place / 'two/iter_2.pth'


def test_the_first_stage_trains_the_projector_alone(place: Path, trained: Path) -> None:
    names = torch.load(place / 'one/iter_2.pth', map_location='cpu', weights_only=False)['state_dict']
    assert names and all(name.startswith('projector.') for name in names)
    second = torch.load(trained, map_location='cpu', weights_only=False)['state_dict']
    assert not any(name.startswith('visual_encoder.') for name in second)
    assert any(not torch.equal(second[name], value) for name, value in names.items())


def test_a_trained_model_is_asked_and_measured(place: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = 'data/synth/val/images/000000.jpg'
    said = run(place, '-m', 'projects.xtuner_llava.chat', FINETUNE, trained, '--images', image, '--questions', QUESTION,
               'Where?', '--max-new-tokens', 4)
    assert image in said and QUESTION in said and 'Where?' in said
    measured = run(place, '-m', 'projects.xtuner_llava.measure', FINETUNE, trained, 'data/llava/train_dialogues.json',
                   '--images', 'data/synth', '--num', 2)
    figures = dict(line.split() for line in measured.splitlines()
                   if line.startswith(('loss', 'first')))
    assert float(figures['first_commonest_percent']) == 100
    assert float(figures['loss']) > 0 and float(figures['loss_other_picture']) > 0

    monkeypatch.chdir(place)
    with pytest.raises(CheckpointError, match='of another model'):
        load_speaker(str(PRETRAIN), str(trained))


def test_a_prompt_is_what_training_has_shown(place: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    speaker = load_speaker(str(FINETUNE), str(trained), 'cpu')
    sample = ConversationDataset('data/llava/train_dialogues.json', 'data/synth', speaker.tokenizer, speaker.processor,
                                 speaker.template, 512)[0]
    dialogue = speaker.dialogue('data/synth/val/images/000000.jpg')
    assert dialogue.tokens.shape[1] == 128 * 96 // 16**2
    dialogue.turns.append((QUESTION, ANSWER))
    prompt = dialogue._prompt('Where?')[0].tolist()
    assert prompt == sample['input_ids'][:len(prompt)]
    labels = [label for label in sample['labels'] if label >= 0]
    assert speaker.tokenizer.decode(labels, skip_special_tokens=True) == f'{ANSWER}In a room.'


def test_training_goes_on_where_it_stopped(place: Path, trained: Path) -> None:
    log = run(place, '-m', 'xtuner.tools.train', FINETUNE, '--work-dir', 'two', '--resume', trained, '--cfg-options',
              *OPTIONS, 'train_cfg.max_iters=3', 'model.pretrained_pth=one/iter_2.pth')
    assert 'Iter(train) [3/3]' in log and 'Iter(train) [1/3]' not in log


def test_xtuner_converts_it(place: Path, trained: Path) -> None:
    run(place, '-m', 'xtuner.tools.model_converters.pth_to_hf', FINETUNE, trained, 'converted', '--fp32',
        '--safe-serialization')
    assert {'config.json', 'tokenizer.json', 'projector'} <= {path.name for path in (place / 'converted').iterdir()}


def test_wrong_conversations_are_named(tmp_path: Path) -> None:
    tokenizer, processor = train_tokenizer([QUESTION], 300, 64), Sapiens2ImageProcessor(size=(64, 48))
    path = tmp_path / 'a.json'
    path.write_text(json.dumps([{'image': 'a.jpg'}]))
    with pytest.raises(DataError, match="record 0 lacks 'conversations'"):
        ConversationDataset(str(path), '', tokenizer, processor, {}, 64)


def test_the_example_of_the_readme_is_a_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    text = (CONFIGS.parent / 'README.md').read_text(encoding='utf-8')
    example = re.search(r'^```python\n(.*?)^```', text, re.MULTILINE | re.DOTALL).group(1)
    for path in (tmp_path / PRETRAIN.name, tmp_path / 'real.py'):
        path.write_text(example if path.stem == 'real' else PRETRAIN.read_text())
    cfg = Config.fromfile(tmp_path / 'real.py')
    name, size = 'lmsys/vicuna-7b-v1.5', (512, 384)
    assert cfg.model.llm.pretrained_model_name_or_path == name
    assert cfg.model.visual_encoder.img_size == cfg.train_dataloader.dataset.image_processor.size == size
    for part in (cfg.train_dataloader.dataset, *cfg.custom_hooks):
        assert part.tokenizer.pretrained_model_name_or_path == name
    assert cfg.custom_hooks[1].image_processor.size == cfg.image_processor.size == size
