"""How commands of the pages are made small; all of it is here.

Commands run as they are written, but for four things. The configs of large models in the reader's folder describe the
tiny network at 256x192 (``write_small_configs``). Runs last two iterations, so a checkpoint of any iteration is that of
the second. Each verb of ``MORE`` gets further options. ``PLACEHOLDERS`` get a meaning.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from mmengine.config import Config
from small_recipes import DOUBLINGS
from small_recipes import shrunk as with_small_sizes

ROOT = Path(__file__).resolve().parents[2]
LARGE = ('sapiens2_0.1b', 'sapiens2_0.4b', 'sapiens2_0.8b', 'sapiens2_1b', 'sapiens2_5b')
ITERATIONS = 2
# (H, W), (W, H), heat maps and crops of the released recipes, and what stands for them.
SIZES = {(1024, 768): (256, 192), (768, 1024): (192, 256), (192, 256): (48, 64), (4096, 3072): (512, 384),
         (512, 384): (128, 96), (192, 144): (48, 32), (256, 192): (64, 48)}
PLACEHOLDERS = {
    'CONFIG': 'configs/seg/sapiens2-tiny_seg_folder-256x192.py',
    'CONFIG_OR_PATH': 'configs/seg/sapiens2-tiny_seg_folder-256x192.py',
    'CHECKPOINT': 'checkpoint.pth',
    'PHOTOGRAPH': 'photo.jpg',
    'PHOTOGRAPHS': 'photographs',
}
SHORT_RUN = ('--cfg-options', f'train_cfg.max_iters={ITERATIONS}', 'train_dataloader.batch_size=2',
             'train_dataloader.num_workers=0', 'train_dataloader.persistent_workers=False',
             'default_hooks.checkpoint.interval=1', 'default_hooks.logger.interval=1')
MORE = {
    'train': SHORT_RUN,
    'synth': ('--size', '64', '48', '--workers', '1'),
    'thuman': ('--split', 'train', '--val-share', '0', '--views', '1', '--size', '64', '48'),
    'hi4d': ('--split', 'train', '--val-share', '0'),
    'curate': ('--workers', '1', '--at-most', 'text_share=1', 'clipped=1', '--at-least',
               *(f'{column}=0' for column in ('shorter_side', 'contrast', 'sharpness', 'realism', 'person_side'))),
    'benchmark': ('--rows', 'pose, tiny', 'seg, tiny'),
}
# Regular expression -> what stands for it, in words of commands and in examples.
WORDS = (
    (r'\biter_\d+\b', f'iter_{ITERATIONS}'),
    (r'^/shared/', 'shared/'),
    (r'^1450,1450,959\.5,539\.5$', '80,80,35.5,47.5'),  # of pictures of 1920x1080; theirs are 72x96
)
_SCRIPTS = re.compile(r'tools/(train|test|benchmark)\.py$')


def verb_of(words: Sequence[str]) -> str:
    """The verb of ``sapiens2``, by that name or as a script of tools/; of other programs the name of the script."""
    if words[0] == 'sapiens2':
        return words[1] if len(words) > 1 else ''
    script = next((word for word in words[1:] if word.endswith('.py')), words[min(2, len(words) - 1)])
    known = next((_SCRIPTS.search(word) for word in words if _SCRIPTS.search(word)), None)
    return known[1] if known else Path(script).stem


def small_text(text: str) -> str:
    """A word of a command, or an example, as it is run."""
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    return text


def shrunk(words: Sequence[str]) -> list[str]:
    """The words of a command as it is run."""
    if words[0] == 'pip' or '-c' in words:
        return list(words)
    verb = verb_of(words)
    found = [small_text(PLACEHOLDERS.get(word, word)) for word in words]
    found = [re.sub(r'=(\w+)$', lambda value: '=' + PLACEHOLDERS.get(value[1], value[1]), word) for word in found]
    if verb == 'synth' and '--num' in found:
        at = found.index('--num') + 1
        found[at] = str(max(4, min(6, int(found[at]) // 500)))
    if '--nproc-per-node' in found:
        found[found.index('--nproc-per-node') + 1] = '2'
    if verb == 'data' and found[2] in ('convert', 'check'):  # options of one set go by its name
        found += ('--workers', '1')
        verb = found[3]
    if verb == 'serve':
        return [*found, '--port', os.environ['PAGE_PORT'], '--device', 'cpu']
    return [*found, *MORE.get(verb, ())]


@lru_cache
def _model_text(path: Path) -> str:
    return repr(Config.fromfile(path).model.to_dict())


def small_config(path: Path) -> dict[str, Any]:
    """The config of a large model with its data and options, at small sizes, with the tiny network of its task."""
    cfg = with_small_sizes(Config.fromfile(path).to_dict(), SIZES)
    tiny = 'tiny_pretrain_synth' if path.parent.name == 'pretrain' else 'tiny_pose_coco_wholebody' \
        if path.parent.name == 'pose' else f'tiny_{path.parent.name}_folder'
    model = ast.literal_eval(_model_text(path.parent / f'sapiens2-{tiny}-256x192.py'))
    backbone = cfg['model']['backbone']
    kept = ('img_size', 'with_cp', 'use_tokenizer')
    model['backbone'].update({key: backbone[key] for key in kept if key in backbone})
    if '-4k_' in path.name and 'decode_head' in model:  # one doubling more
        for name in DOUBLINGS.intersection(model['decode_head']):
            model['decode_head'][name] += model['decode_head'][name][-1:]
            if name == 'deconv_out_channels':
                model['decode_head']['deconv_kernel_sizes'] = (4,) * len(model['decode_head'][name])
    cfg['model'] = model
    return cfg


def write_small_configs(folder: Path) -> None:
    """Put configs of the sizes of ``LARGE``, and all others as they are, below ``folder``."""
    for path in sorted((ROOT / 'configs').rglob('*.py')):
        target = folder / path.relative_to(ROOT / 'configs')
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.stem.startswith(tuple(name.replace('_', '-') for name in LARGE)):
            entries = (f'{key} = {value!r}\n' for key, value in small_config(path).items())
            target.write_text(small_text(''.join(entries)), encoding='utf-8')
        else:
            target.symlink_to(path)
