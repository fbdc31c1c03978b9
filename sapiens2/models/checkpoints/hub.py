"""Weights by the name of their repository on huggingface.co.

Nothing is downloaded unless somebody names a repository, and then only safetensors and config.json. What is in the
local cache is taken from there; with the environment variable HF_HUB_OFFLINE=1 the network is never touched.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Optional, Union

from mmengine.logging import print_log

from sapiens2.utils.model_index import Release, load_model_index
from sapiens2.utils.suggest import nearest
from sapiens2.utils.visible_files import visible_files

_REPOSITORY = re.compile(r'(?P<repository>[\w-][\w.-]*/[\w-][\w.-]*?)(@(?P<revision>[\w.-]+))?')
_FILE_ENDINGS = ('.safetensors', '.pth', '.pt', '.pt2', '.bin', '.onnx', '.ckpt', '.json', '.xml', '.ts')
_PATTERNS = ['*.safetensors', '*.safetensors.index.json', 'config.json']
_said: set[str] = set()


def local_weights(name: Union[str, os.PathLike]) -> Path:
    """The file or folder of weights that ``name`` leads to.

    Args:
        name: a path; or, where there is none, 'OWNER/REPOSITORY' of huggingface.co, with '@REVISION' (branch, tag or
            commit) behind it if need be.

    Raises:
        FileNotFoundError: if there is no such file or repository, or none in the cache and no network.
        ImportError: if a repository is named and huggingface_hub is missing.
        ValueError: if the repository has no safetensors, or several of which none is known.
    """
    path = Path(name)
    match = _REPOSITORY.fullmatch(os.fspath(name))
    if path.exists():
        return path
    if match is None or path.suffix.lower() in _FILE_ENDINGS or path.parent.is_dir():
        raise FileNotFoundError(f'{path}: no such file of weights. `sapiens2 zoo` lists the released ones')
    return _from_hub(match['repository'], match['revision'])


def _from_hub(repository: str, revision: Optional[str]) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise ImportError(f'{repository}: no such file; to take it from huggingface.co install '
                          'pip install "sapiens2[hub]"') from error
    try:
        folder = snapshot_download(repository, revision=revision, allow_patterns=_PATTERNS, local_files_only=True)
        weights = _choose(Path(folder), repository)
    except (LocalEntryNotFoundError, FileNotFoundError):
        print_log(f'{repository}: downloading from huggingface.co', logger='current')
        try:
            folder = snapshot_download(repository, revision=revision, allow_patterns=_PATTERNS)
        except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
            raise FileNotFoundError(_not_found(repository, revision, error)) from error
        weights = _choose(Path(folder), repository)
    if repository not in _said:
        _said.add(repository)
        print_log(_description(repository, weights, Path(folder).name), logger='current', level=logging.INFO)
    return weights


def _choose(folder: Path, repository: str) -> Path:
    """The weights in the folder of a repository."""
    release = _release(repository)
    files = visible_files(folder, '*.safetensors')
    if release is not None and release.file and (folder / release.file).exists():
        return folder / release.file
    if (folder / 'config.json').is_file() and any(file.name.startswith('model') for file in files):
        return folder
    if len(files) == 1:
        return files[0]
    if not files:
        raise FileNotFoundError(f'{repository}: no safetensors in the cached copy')
    raise ValueError(f'{repository}: holds several files, {", ".join(file.name for file in files)}: download the one '
                     'that is meant, and give its path')


def _description(repository: str, weights: Path, commit: str) -> str:
    file = weights if weights.is_file() else max(
        visible_files(weights, '*.safetensors'), key=lambda part: part.stat().st_size)
    # The cache calls the content of a large file by its SHA-256.
    digest = os.path.basename(os.path.realpath(file))
    known = f', SHA-256 {digest}' if re.fullmatch('[0-9a-f]{64}', digest) else ''
    release = _release(repository)
    terms = f'{release.weights_license}, {release.license_url}' if release is not None else (
        f'see https://huggingface.co/{repository}')
    return (f'{repository}: {file.name} of commit {commit}{known}. {repository}@{commit} names exactly these weights. '
            f'Licence of the weights: {terms}')


def _release(repository: str) -> Optional[Release]:
    return next((release for release in load_model_index() if release.repository == repository), None)


def _not_found(repository: str, revision: Optional[str], error: Exception) -> str:
    at = f' at revision {revision}' if revision else ''
    text = f'{repository}{at}: no such file, not in the local cache, and not from huggingface.co: ' \
           f'{str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}'
    close = nearest(repository, [release.repository for release in load_model_index() if release.repository])
    return text + (f'. Did you mean {" or ".join(close)}?' if close and repository not in close else '')
