"""What an exported file says about itself: one JSON text, in the place that each format has for such.

Its schema has a version, which changes when an entry changes its meaning.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from mmengine.config import Config

from sapiens2.export.formats import head_of, unusable
from sapiens2.utils.digests import add_file
from sapiens2.utils.foreign_config import check_foreign_config
from sapiens2.utils.model_index import load_model_index
from sapiens2.utils.task_models import set_image_size, task_config
from sapiens2.utils.visible_files import visible_files
from sapiens2.version import __version__
from sapiens2.weights import embedded_weights

if TYPE_CHECKING:
    from sapiens2.apis.task_network import TaskNetwork

SCHEMA_VERSION = 1
# Name of the entry: a property of ONNX and OpenVINO, and a file in torch's archives.
ENTRY = 'sapiens2'
ENTRY_FILE = 'sapiens2.json'
Info = dict[str, Any]


def export_info(network: TaskNetwork, weights_hash: Optional[str], licence: Optional[str], **about: Any) -> Info:
    """Everything that is needed to run the file, and to know what it is.

    Args:
        network: that is exported.
        weights_hash: of the file of weights, SHA-256.
        licence: of the weights.
        about: format, dtype, batch, opset, and the lists of inputs and outputs.
    """
    preprocessor = network.model.data_preprocessor
    names = {key: list(network.dataset_meta[table]) for key, table in (
        ('keypoint_names', 'keypoint_names'), ('class_names', 'classes')) if table in network.dataset_meta}
    dataset = network.cfg.test_dataloader.dataset
    config = {'model': network.cfg.model, 'test_dataloader': {'dataset': {
        key: dataset[key] for key in ('pipeline', 'pipeline_options', 'classes') if key in dataset}}}
    return {
        'schema_version': SCHEMA_VERSION, 'sapiens2': __version__, 'task': network.task, 'model': network.model_name,
        'img_size': list(network.model.backbone.img_size), 'mean': preprocessor.mean.flatten().tolist(),
        'std': preprocessor.std.flatten().tolist(), **names,
        'weights': {'name': network.weights_name, 'sha256': weights_hash, 'licence': licence}, **about,
        'config': Config(config).to_dict(),
    }


def parse_info(text: Optional[str], path: Path) -> Info:
    """
    Raises:
        ValueError: for a file that this project has not written, or a newer version of it has.
    """
    if not text:
        raise ValueError(f'{path}: was not written by `sapiens2 export`: it does not say what it is. Export it from '
                         'its weights')
    info = json.loads(text)
    if info.get('schema_version') != SCHEMA_VERSION:
        raise ValueError(f'{path}: its description has schema_version {info.get("schema_version")}, this is sapiens2 '
                         f'{__version__}, which knows {SCHEMA_VERSION}. Export it again with this version')
    return info


def archive_info(path: Path) -> Info:
    """What one of torch's archives says about itself. Nothing in it is run.

    Raises:
        ValueError: see ``parse_info``.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            name = next((name for name in archive.namelist() if name.endswith(f'/extra/{ENTRY_FILE}')), None)
            return parse_info(archive.read(name).decode() if name else None, path)
    except zipfile.BadZipFile as error:
        raise ValueError(unusable(path, 'torch', head_of(path).startswith(b'PK'))) from error


def exported_config(info: Info, task: str, img_size: Optional[tuple[int, int]], path: Path) -> Config:
    """The config of an exported network, which ``task_config`` takes.

    Raises:
        ValueError: if it is for another task, or for images of another size, which an exported network cannot take.
    """
    if info['task'] != task:
        raise ValueError(f'{path}: is a network for {info["task"]}, not for {task}')
    if img_size is not None and list(img_size) != info['img_size']:
        raise ValueError(f'{path}: takes images of (H, W) = {tuple(info["img_size"])} alone, not {tuple(img_size)}. '
                         'Leave the size out, or export the weights for this size')
    check_foreign_config(info['config'], str(path))
    cfg = task_config(task, Config(info['config']))
    # JSON has no pairs, which some transforms ask for.
    set_image_size(cfg, tuple(info['img_size']))
    return cfg


def file_hash(path: Path) -> str:
    """SHA-256 of a file; of the safetensors in a folder, one after the other."""
    digest = hashlib.sha256()
    for file in visible_files(path, '*.safetensors') if path.is_dir() else [path]:
        add_file(digest, file)
    return digest.hexdigest()


def known_licence(weights: Optional[Path], task: str, model: str) -> Optional[str]:
    """Licence of released weights, known by their file's name, and of those that come with the package; else None."""
    if weights is None:
        return None
    if weights == embedded_weights(task, model):
        return 'Apache-2.0'
    return next((f'{release.weights_license}, {release.license_url}' for release in load_model_index()
                 if release.file and release.file == weights.name), None)
