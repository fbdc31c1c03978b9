"""Opens each format and runs it: (B, 3, H, W) images to a list of float32 outputs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from sapiens2.export.formats import EXTRA, FORMATS, head_of, unusable
from sapiens2.export.info import ENTRY, Info, archive_info, parse_info
from sapiens2.export.onnx_session import open_session
from sapiens2.utils.silent_packages import import_openvino

Run = Callable[[Tensor], Sequence[Tensor]]


def open_file(path: Path, device: torch.device, trust: bool) -> tuple[Info, Run]:
    """What a file says about itself, and the function that runs it.

    Args:
        path: of the file.
        device: where it computes.
        trust: whether it may run code, see ``ExportFormat.runs_code``.

    Raises:
        FileNotFoundError: if there is no such file.
        ImportError: if the package that runs it is missing.
        ValueError: if it is damaged, not of this project, not trusted, or cannot run on the device.
    """
    if not path.is_file():
        raise FileNotFoundError(f'{path}: there is no such file')
    ending = path.suffix.lower()
    if ending == '.onnx':
        return _onnx(path, device)
    if ending == '.xml':
        return _openvino(path, device)
    info = archive_info(path)
    if not trust:
        raise ValueError(f'{path}: a file of {FORMATS[info["format"]].title} can run any code when it is opened. If '
                         'you trust whoever made it, say so: trust_exported=True (--trust-exported). ONNX and OpenVINO '
                         'files hold no code')
    return info, _ARCHIVES[info['format']](path, device, info)


def _onnx(path: Path, device: torch.device) -> tuple[Info, Run]:
    session = open_session(path, str(device), torch.get_num_threads())
    info = parse_info(session.get_modelmeta().custom_metadata_map.get(ENTRY), path)
    name = session.get_inputs()[0].name

    def run(images: Tensor) -> list[Tensor]:
        return [torch.from_numpy(value).to(device) for value in session.run(None, {name: images.cpu().numpy()})]

    return info, run


def _openvino(path: Path, device: torch.device) -> tuple[Info, Run]:
    try:
        openvino = import_openvino()
    except ImportError as error:
        raise ImportError(f'this file needs openvino: {EXTRA}') from error
    if device.type != 'cpu':
        raise ValueError(f'{path}: OpenVINO files run on the CPU here, not on {device}: choose the device cpu')
    core = openvino.Core()
    try:
        model = core.read_model(path)
    except RuntimeError as error:
        fault = unusable(path, 'OpenVINO', b'<net' in head_of(path))
        if not path.with_suffix('.bin').is_file():
            fault = f'{path}: its weights are missing, {path.with_suffix(".bin").name}. Copy both files'
        reason = (str(error).strip().splitlines() or [''])[-1]
        raise ValueError(f'{fault}. OpenVINO says: {reason}') from error
    info = parse_info(model.get_rt_info([ENTRY]).astype(str) if model.has_rt_info([ENTRY]) else None, path)
    compiled = core.compile_model(model, 'CPU', {
        # It would choose bf16 by itself where the processor has it.
        'INFERENCE_PRECISION_HINT': 'f32', 'INFERENCE_NUM_THREADS': torch.get_num_threads()})

    def run(images: Tensor) -> list[Tensor]:
        found = compiled(images.numpy())
        return [torch.from_numpy(found[output].copy()) for output in compiled.outputs]

    return info, run


def _torch_export(path: Path, device: torch.device, info: Info) -> Run:
    # It says of each file that it is unsafe to open those of strangers, which was asked above.
    logger = logging.getLogger('torch.export')
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        program = torch.export.load(path)
    finally:
        logger.setLevel(level)
    if device.type != 'cpu':
        from torch.export.passes import move_to_device_pass
        program = move_to_device_pass(program, device)
    module = program.module()
    # Not the module itself, which cannot be switched between training and evaluation with the estimator.
    return lambda images: module(images)


def _aoti(path: Path, device: torch.device, info: Info) -> Run:
    if device.type != info['device']:
        raise ValueError(f'{path}: was compiled for {info["device"]}, not for {device}. Export it there')
    return torch._inductor.aoti_load_package(str(path))


def _torchscript(path: Path, device: torch.device, info: Info) -> Run:
    return torch.jit.load(str(path), map_location=device).eval()


_ARCHIVES: Mapping[str, Callable[[Path, torch.device, Info], Run]] = {
    'torch-export': _torch_export, 'aoti': _aoti, 'torchscript': _torchscript}
