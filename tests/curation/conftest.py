"""A small folder of pictures, and a config for it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from curation.runs import photograph


@pytest.fixture
def folder(tmp_path):
    """Twelve pictures, an equal file, a smaller copy, a flat one, a tiny one and a broken one."""
    root = tmp_path / 'photographs'
    root.mkdir()
    for number in range(12):
        cv2.imwrite(str(root / f'{number:02d}.jpg'), photograph(number))
    (root / 'equal.jpg').write_bytes((root / '03.jpg').read_bytes())
    smaller = cv2.resize(photograph(4), None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(root / 'smaller.png'), smaller)
    cv2.imwrite(str(root / 'flat.png'), np.full((200, 160, 3), 90, dtype=np.uint8))
    cv2.imwrite(str(root / 'tiny.png'), photograph(50, (20, 30)))
    (root / 'broken.jpg').write_bytes((root / '01.jpg').read_bytes()[:500])
    return root


@pytest.fixture
def config(tmp_path, folder):
    path = tmp_path / 'curation.py'
    path.write_text(f'''
source = dict(type='PretrainFolderDataset', data_root={str(folder)!r})
stages = [dict(type='Decode'), dict(type='Hashes')]
filters = [dict(type='Limit', column='shorter_side', at_least=64), dict(type='Limit', column='contrast', at_least=4)]
part_size = 5
shard_size = 4
''', encoding='utf-8')
    return path
