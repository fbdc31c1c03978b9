"""What ``sapiens2`` makes of errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch.utils.data import DataLoader, Dataset

from sapiens2.cli.main import _message
from sapiens2.utils.image_io import read_image


class _Photos(Dataset):
    """Photographs that are read by workers."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> object:
        return read_image(self.path)


def test_errors_of_data_loaders_are_shown_without_their_traceback(tmp_path: Path) -> None:
    (tmp_path / 'a.png').write_bytes(b'')
    with pytest.raises(ValueError, match='Traceback') as caught:
        next(iter(DataLoader(_Photos(tmp_path / 'a.png'), num_workers=1)))
    assert _message(caught.value) == f'{tmp_path / "a.png"}: the file is empty (0 bytes)'


@pytest.mark.parametrize('error, text', [
    (KeyError("no 'x'\nbut y"), "no 'x'\nbut y"), (ValueError('Caught cold'), 'Caught cold'), (OSError(), 'OSError')])
def test_other_errors_are_shown_as_they_are(error: Exception, text: str) -> None:
    assert _message(error) == text
