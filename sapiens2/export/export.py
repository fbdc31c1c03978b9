"""From weights to a file that other programs run, and the report on how well it does."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import torch
from mmengine.config import Config
from torch import Tensor

from sapiens2.apis.task_network import TaskNetwork
from sapiens2.export.exported_network import ExportedNetwork
from sapiens2.export.formats import FORMATS, format_for
from sapiens2.export.info import export_info, file_hash, known_licence
from sapiens2.export.parity import TOLERANCE, check
from sapiens2.export.raw_network import INPUT, OUTPUTS, RawNetwork, fixed_rotations
from sapiens2.export.writers import Job, check_tools, write
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.devices import DTYPES, dtype_named, pick_device
from sapiens2.utils.image_io import read_image
from sapiens2.utils.image_list import list_images
from sapiens2.utils.suggest import UnknownNameError, unknown_name

# A size that torch's tracer takes for one among many, as it does not with 1.
_EXAMPLES = 2


def export_network(
        task: str, target: Union[str, os.PathLike], model: Union[str, os.PathLike, Config] = 'sapiens2_1b',
        weights: Union[str, os.PathLike, None] = None, file_format: Optional[str] = None,
        img_size: Optional[tuple[int, int]] = None, dtype: str = 'fp32', batch: Optional[int] = None,
        with_preprocessing: bool = False, opset: Optional[int] = None, device: str = 'cpu',
        licence: Optional[str] = None, pictures: Sequence[Union[str, os.PathLike]] = (),
        tolerance: Optional[float] = None, force: bool = False) -> dict[str, Any]:
    """Write a network to a file, and check the file against the network.

    The file takes float32 images (B, 3, H, W), RGB, less the mean and divided by the standard deviation that its
    description names; or, ``with_preprocessing``, uint8 RGB. It gives the decoder's raw outputs in float32, see
    ``OUTPUTS``.

    Args:
        task, model, weights, img_size: see ``Sapiens2Inferencer``.
        target: file to write; its report lies beside it, ``TARGET.parity.json``.
        file_format: a name of ``FORMATS``; default: by the ending of ``target``.
        dtype: 'fp32', 'bf16' or 'fp16': of the weights, and where the runtime can of the computation.
        batch: number of images at a time; default: any number.
        with_preprocessing: normalise in the file.
        opset: of ONNX; default: torch's.
        device: that AOTInductor compiles for, and where all is checked.
        licence: of the weights, for the description; default: where it is known.
        pictures: files and folders to check with, of which the first ``batch``, or two, are taken; default: noise,
            smooth and rough.
        tolerance: see ``TOLERANCE``.
        force: overwrite ``target``.

    Returns:
        The report: description of the file, its size, and what ``check`` returns.

    Raises:
        FileExistsError: if ``target`` exists, without ``force``.
        FileNotFoundError: for pictures that are not there.
        ValueError: for a format, dtype or size that does not go together; a picture that cannot be read.
        ImportError, RuntimeError: if a package or a compiler is missing, with what installs it.
    """
    target, kind = Path(target), format_for(target, file_format)
    short = _checked_dtype(dtype, kind)
    if opset is not None and kind != 'onnx':
        raise ValueError(f'opset is a version of ONNX, and {FORMATS[kind].title} has none: leave it out')
    if target.exists() and not force:
        raise FileExistsError(f'{target}: is there already: --force overwrites it')
    check_tools(kind)
    files = [file.path for file in list_images(pictures)][:batch or _EXAMPLES]
    read = [read_image(path) for path in files]
    place = pick_device(device)
    network = TaskNetwork(task, model, weights, place, dtype_named(short), img_size, stream_layers='never')
    if batch is None and getattr(network.model.backbone, 'tokenizer', None) is not None:
        raise ValueError('the tokenizer works on windows in groups, so the number of images at a time has to be known: '
                         'give it, --batch 1')
    raw = RawNetwork(network.model, with_preprocessing).eval()
    images = _images(network, raw, read, batch or _EXAMPLES)
    with torch.inference_mode():
        outputs = raw(images[:1])
    info = export_info(
        network, None if network.weights is None else file_hash(network.weights),
        licence or known_licence(network.weights, task, network.model_name), format=kind, dtype=short, batch=batch,
        opset=opset, device=place.type,
        input={'name': INPUT, 'layout': 'BCHW', 'channels': 'RGB', 'normalised': not with_preprocessing,
               'dtype': 'uint8' if with_preprocessing else 'float32'},
        outputs=[{'name': name, 'shape': list(value.shape[1:]), 'dtype': 'float32'}
                 for name, value in zip(OUTPUTS[task], outputs)])
    with fixed_rotations(network.model.backbone, in_float32=kind in ('onnx', 'openvino')):
        _write_in_place(kind, Job(raw, images, batch is None, info, opset), target)
    exported = ExportedNetwork(target, place, trust=True)
    batches = [images[:1], images] if batch is None else [images]
    report = {'file': str(target), 'bytes': sum(path.stat().st_size for path in files_of(target)),
              'checked_on': [str(path) for path in files] or 'noise', 'device': place.type,
              **{key: value for key, value in info.items() if key != 'config'},
              **check(OUTPUTS[task], raw, lambda batch: _as_list(exported(batch)[0]), batches,
                      TOLERANCE[short] if tolerance is None else tolerance)}
    with atomic_path(report_path(target)) as partial:
        partial.write_text(json.dumps(report, indent=1), encoding='utf-8')
    return report


def report_path(target: Path) -> Path:
    """Where the report on ``target`` lies."""
    return target.with_name(target.name + '.parity.json')


def files_of(target: Path) -> list[Path]:
    """The files that an exported network consists of: ``target``, and where there are any those with its weights."""
    beside = (target.with_name(target.name + '.data'), target.with_suffix('.bin') if target.suffix == '.xml' else None)
    return [target, *(path for path in beside if path is not None and path.is_file())]


def _checked_dtype(name: str, kind: str) -> str:
    """The short name of a dtype that the format has."""
    if name not in DTYPES:
        raise UnknownNameError(unknown_name(name, DTYPES, 'dtype'))
    short = next(known for known, dtype in DTYPES.items() if dtype == DTYPES[name])
    if short not in FORMATS[kind].dtypes:
        raise ValueError(f'{FORMATS[kind].title} runs in {" or ".join(FORMATS[kind].dtypes)}, not in {short}: its '
                         'runtimes lack operations in that dtype')
    return short


def _write_in_place(kind: str, job: Job, target: Path) -> None:
    """Write beside ``target``, then move all files to their places, the one that names the others last."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='.partial-', dir=target.parent) as folder:
        try:
            write(kind, job, Path(folder) / target.name)
        except OSError as error:  # of a full disk the system does not say which file met it
            raise OSError(error.errno, error.strerror or str(error), str(target)) from error
        for path in reversed(files_of(Path(folder) / target.name)):
            os.replace(path, target.with_name(path.name))


def _images(network: TaskNetwork, raw: RawNetwork, pictures: Sequence[np.ndarray], count: int) -> Tensor:
    """(count, 3, H, W) network inputs, made of pictures, again from the first where there are fewer, or of noise."""
    height, width = network.model.backbone.img_size
    if pictures:
        grey_levels = torch.stack([_prepared(network, picture) for picture in pictures])
    else:
        random = np.random.default_rng(0)
        rough = torch.from_numpy(random.integers(0, 256, (count, 3, height, width), dtype=np.uint8))
        coarse = torch.from_numpy(random.uniform(0, 255, (count, 3, 8, 6)).astype(np.float32))
        smooth = torch.nn.functional.interpolate(coarse, (height, width), mode='bicubic').clamp(0, 255).to(torch.uint8)
        grey_levels = torch.cat((smooth[:1], rough))
    chosen = grey_levels[torch.arange(count) % len(grey_levels)].to(raw.mean.device)
    return chosen if raw.with_preprocessing else (chosen.float() - raw.mean) / raw.std


def _prepared(network: TaskNetwork, picture: np.ndarray) -> Tensor:
    """(3, H, W) uint8 RGB of a (h, w, 3) BGR picture, which for pose is one person."""
    known: dict[str, Any] = {'img': picture, 'img_path': '', 'dataset_meta': {}}
    if network.task == 'pose':
        height, width = picture.shape[:2]
        known['bboxes'] = np.array([[0, 0, width, height]], np.float32)
    return network.pipeline(known)['inputs'].flip(0).to(torch.uint8)


def _as_list(outputs: Any) -> list[Tensor]:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]
