"""What a reader has before the commands of a page: pictures, data and weights, made when a command first names them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np
import torch
from films import make_film
from mmengine.config import Config
from pages.shrink import verb_of
from tiny_data import write_data
from tiny_sources import SOURCES

TASKS = ('pose', 'seg', 'normal', 'pointmap', 'albedo')
GENERATED = Path('/')  # set by ``use``: generated people, from which everything is made
# Options and places behind the verb that name what a command writes.
_OUTPUT_OPTIONS = ('--out', '--work-dir', '--dump', '--json')
_OUTPUT_PLACES = {'convert': 3, 'export': 3, 'data': 5}


def use(folder: Path) -> None:
    """Take pictures and data from ``folder``, which ``sapiens2 synth`` wrote."""
    global GENERATED
    GENERATED = folder


def provide(words: Sequence[str]) -> None:
    """Make the files and folders that a command reads and that are not there."""
    for word in inputs(words):
        path = Path(word)
        make = next((make for pattern, make in GIVEN.items() if re.fullmatch(pattern, word)), None)
        if make is not None and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path, words)
    if verb_of(words) in ('train', 'test', 'data', 'plan'):
        _data_of_config(words)


def inputs(words: Sequence[str]) -> Iterator[str]:
    """Words that may be paths of what is read; of NAME=PATH, NAME:PATH and NAME@PATH the path."""
    written = _OUTPUT_PLACES.get(verb_of(words)) if words[0] == 'sapiens2' else None
    for number, word in enumerate(words):
        if number != written and words[number - 1] not in _OUTPUT_OPTIONS and '://' not in word:
            yield re.split('[=:@]', word)[-1].rstrip('/')


def config_of(words: Sequence[str]) -> Optional[Config]:
    """The config that a command names, with the options of the command."""
    path = next((word for word in words if re.search(r'configs/.*\.py$', word)), None)
    if path is None:
        return None
    cfg = Config.fromfile(path)
    options = dict(word.split('=', 1) for word in words if re.match(r'[\w.]+=', word))
    if 'data_root' in options:
        cfg.merge_from_dict({'data_root': options['data_root']})
    return cfg


def _data_sets(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if isinstance(node.get('data_root'), str):
            yield node
        for value in node.values():
            yield from _data_sets(value)
    elif isinstance(node, (list, tuple)):
        for value in node:
            yield from _data_sets(value)


def _data_of_config(words: Sequence[str]) -> None:
    cfg = config_of(words)
    if cfg is None:
        return
    chosen, people = (next((word.partition('=')[2] for word in words if re.match(rf'(.*\.)?{name}=', word)), None)
                      for name in ('data_root', 'ann_file'))
    for data in _data_sets({key: cfg[key] for key in cfg if key.endswith('_dataloader')}):
        root = Path(chosen or data['data_root'])
        if re.match(r'data/synth\b', str(root)):
            _generated(Path('data/synth'), words)
        elif 'ann_file' in data and str(data['ann_file']).endswith('.json'):
            ann_file = people or data['ann_file']
            if not (root / ann_file).exists():
                _people(root, ann_file, data.get('data_prefix', {}).get('img_path', ''))
        elif not root.exists():
            write_data(_task_of(words, root.name) if 'Pretrain' not in data['type'] else 'pretrain', root)


def _people(root: Path, ann_file: str, pictures: str) -> None:
    made = root / '.made'
    write_data('pose', made)
    (root / ann_file).parent.mkdir(parents=True, exist_ok=True)
    (made / 'people.json').rename(root / ann_file)
    shutil.copytree(made, root / pictures, dirs_exist_ok=True)
    shutil.rmtree(made)


def _task_of(words: Sequence[str], name: str = '') -> str:
    text = ' '.join([name, *words])
    task = re.search(rf'(?<![a-z])({"|".join(TASKS)})(?![a-z])', text)
    return task[0] if task else 'seg'


def _source(path: Path, words: Sequence[str]) -> None:
    SOURCES[words[words.index('convert') + 1]](Path(path.parts[0]) if path.parts[0] == 'SRC' else path)


def _photograph(path: Path, words: Sequence[str] = ()) -> None:
    pictures = sorted((GENERATED / 'train/images').iterdir())
    image = cv2.imread(str(pictures[len(path.name) % len(pictures)]))
    cv2.imwrite(str(path), image)


def _photographs(path: Path, words: Sequence[str] = ()) -> None:
    path.mkdir(parents=True)
    for picture in sorted((GENERATED / 'train/images').iterdir())[:3 if path.name == 'photos' else None]:
        shutil.copy(picture, path)


def _classes(path: Path, words: Sequence[str] = ()) -> None:
    for number, picture in enumerate(sorted((GENERATED / 'train/images').iterdir())):
        folder = path / ('sitting', 'standing')[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, folder)


def _generated(path: Path, words: Sequence[str] = ()) -> None:
    if not (path / 'manifest.json').exists():
        shutil.copytree(GENERATED, path, dirs_exist_ok=True)


def _predictions(path: Path, words: Sequence[str]) -> None:
    """A folder of the pictures that are tested, as another program would have written it."""
    path.mkdir()
    for picture in (GENERATED / 'val/images').iterdir():
        shape = (*cv2.imread(str(picture)).shape[:2], 3)
        if path.name == 'POINTS':
            np.savez(path / f'{picture.stem}.npz', points=np.ones(shape, np.float32))
        else:
            np.save(path / f'{picture.stem}.npy', np.broadcast_to(np.float32([-0.6, 0, 0.8]), shape))


def _film(path: Path, words: Sequence[str] = ()) -> None:
    make_film(path, count=3)


def _films(path: Path, words: Sequence[str] = ()) -> None:
    path.mkdir()
    _film(path / 'film.mp4')


def _boxes(path: Path, words: Sequence[str] = ()) -> None:
    """One person in each picture that a command of a page names beside its boxes."""
    _write_people(path, ['a.jpg', 'b.jpg', *(file.name for file in (GENERATED / 'train/images').iterdir())])


def _coco(path: Path, words: Sequence[str] = ()) -> None:
    """COCO's people, of the generated pictures, with the 17 key points of each."""
    _write_people(path, [file.name for file in (GENERATED / 'train/images').iterdir()], iscrowd=0, category_id=1,
                  area=1200, num_keypoints=17, keypoints=[20, 20, 2] * 17)


def _write_people(path: Path, names: Sequence[str], **fields: Any) -> None:
    path.write_text(json.dumps({
        'images': [dict(id=number, file_name=name) for number, name in enumerate(names)],
        'annotations': [dict(id=number, image_id=number, bbox=[5, 5, 30, 40], **fields)
                        for number in range(len(names))]}))


def _weights(path: Path, words: Sequence[str]) -> None:
    """Random weights of the network that the command runs, or of its backbone."""
    from safetensors.torch import save_file

    from sapiens2.registry import MODELS
    from sapiens2.utils.task_models import DEFAULT_MODEL, task_config
    cfg = config_of(words)
    if cfg is None:
        model = re.search(r'(?:sapiens2_)?(tiny|\d(?:\.\d)?b(?:[-_]4k)?)', ' '.join([path.name, *words]))
        cfg = task_config(_task_of(words, path.name), model[1].replace('_', '-') if model else DEFAULT_MODEL)
    state = MODELS.build(cfg.model).state_dict()
    if re.search('backbone|pretrain', path.name, re.IGNORECASE) or verb_of(words) in ('probe', 'features'):
        state = {name.removeprefix('backbone.'): value for name, value in state.items() if name.startswith('backbone.')}
    if path.suffix == '.safetensors':
        save_file({name: value.contiguous() for name, value in state.items()}, path)
    else:
        torch.save({'state_dict': state}, path)


# Regular expression of a path -> what makes it.
GIVEN: dict[str, Callable[[Path, Sequence[str]], None]] = {
    r'[^*]*\w\.(jpg|png)': _photograph,
    r'.*\.mp4': _film,
    r'films': _films,
    r'NORMALS|POINTS': _predictions,
    r'SRC(/\w+)?|downloads/\w+': _source,
    r'people\.json': _boxes,
    r'person_keypoints_val2017\.json': _coco,
    r'photos|photographs|val2017|data/BG-20k/train': _photographs,
    r'classes': _classes,
    r'data/synth(/.*)?': lambda path, words: _generated(Path('data/synth'), words),
    r'.*\.(safetensors|pth)': _weights,
}
