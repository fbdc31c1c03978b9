"""Writes each format. A writer puts its files into a folder; whoever calls it moves them to their place."""

from __future__ import annotations

import importlib.util
import io
import json
import logging
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import torch
import torch._inductor.cpp_builder
from torch import Tensor

from sapiens2.export.formats import EXTRA, FORMATS
from sapiens2.export.info import ENTRY, ENTRY_FILE, Info
from sapiens2.export.raw_network import INPUT, RawNetwork
from sapiens2.utils.silent_packages import import_openvino

# A protocol buffer, which an ONNX file is, holds less than 2 GiB. Weights beyond this lie in a second file.
_ONE_FILE = 1.8 * 2**30


@dataclass(frozen=True)
class Job:
    """What is to be written.

    Attributes:
        network: in evaluation mode.
        example: (B, 3, H, W) images.
        dynamic: whether the file takes any number of images at a time; else B.
        info: what the file says about itself.
        opset: of ONNX; None lets torch choose.
    """

    network: RawNetwork
    example: Tensor
    dynamic: bool
    info: Info
    opset: Optional[int] = None

    @property
    def text(self) -> str:
        return json.dumps(self.info)

    @property
    def outputs(self) -> list[str]:
        return [output['name'] for output in self.info['outputs']]

    def program(self) -> torch.export.ExportedProgram:
        batch = {0: torch.export.Dim('batch', min=1)} if self.dynamic else None
        return torch.export.export(self.network, (self.example,), dynamic_shapes=(batch,))


def _onnx(job: Job, path: Path) -> None:
    program = torch.onnx.export(job.program(), dynamo=True, input_names=[INPUT], output_names=job.outputs,
                                opset_version=job.opset, verbose=False)
    program.model.metadata_props[ENTRY] = job.text
    size = sum(value.numel() * value.element_size() for value in job.network.state_dict().values())
    program.save(path, external_data=size > _ONE_FILE)


def _openvino(job: Job, path: Path) -> None:
    openvino = import_openvino()
    model = openvino.convert_model(job.program())
    model.inputs[0].get_tensor().set_names({INPUT})
    for output, name in zip(model.outputs, job.outputs):
        output.get_tensor().set_names({name})
    model.set_rt_info(job.text, [ENTRY])
    openvino.save_model(model, path, compress_to_fp16=False)


def _torch_export(job: Job, path: Path) -> None:
    # In memory first: when a disk is full, torch's writer of files ends the whole program, past every handler.
    content = io.BytesIO()
    torch.export.save(job.program(), content, extra_files={ENTRY_FILE: job.text})
    path.write_bytes(content.getbuffer())


def _aoti(job: Job, path: Path) -> None:
    # By itself it leaves out the rounding between operations in bf16 that it joins.
    torch._inductor.aoti_compile_and_package(job.program(), package_path=str(path),
                                             inductor_configs={'emulate_precision_casts': True})
    with zipfile.ZipFile(path, 'a') as archive:
        root = archive.namelist()[0].partition('/')[0]
        archive.writestr(f'{root}/extra/{ENTRY_FILE}', job.text)


def _torchscript(job: Job, path: Path) -> None:
    traced = torch.jit.trace(job.network, job.example, check_trace=False)
    content = io.BytesIO()  # as above
    torch.jit.save(traced, content, _extra_files={ENTRY_FILE: job.text})
    path.write_bytes(content.getbuffer())


WRITERS: Mapping[str, Callable[[Job, Path], None]] = {
    'onnx': _onnx, 'openvino': _openvino, 'torch-export': _torch_export, 'aoti': _aoti, 'torchscript': _torchscript}


def check_tools(kind: str) -> None:
    """Look whether all is there that writes and runs format ``kind``.

    Raises:
        ImportError: if a package is missing, with what installs it.
        RuntimeError: if a compiler is missing.
    """
    missing = [package for package in FORMATS[kind].packages if importlib.util.find_spec(package) is None]
    if missing:
        raise ImportError(f'{FORMATS[kind].title} needs {", ".join(missing)}: {EXTRA}')
    if kind == 'aoti':
        try:
            torch._inductor.cpp_builder.get_cpp_compiler()
        except RuntimeError as error:
            raise RuntimeError(
                'AOTInductor compiles the network: it needs a C++ compiler. Install one (g++ for instance), name it in '
                f'the environment variable CXX, or choose another format. torch says: {error}') from error


def write(kind: str, job: Job, path: Path) -> None:
    """Write ``job`` in format ``kind``, see ``check_tools``.

    Raises:
        RuntimeError: if the network has something that the format lacks.
    """
    with _quiet(), torch.no_grad():
        WRITERS[kind](job, path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what the exporters say about their own parts."""
    logger = logging.getLogger('torch.onnx')
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            for category in (DeprecationWarning, FutureWarning, UserWarning, torch.jit.TracerWarning):
                warnings.simplefilter('ignore', category)
            yield
    finally:
        logger.setLevel(level)
