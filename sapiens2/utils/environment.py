"""What this installation consists of, and what is wrong with it. torch is imported only when asked for devices."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Optional


@dataclass(frozen=True)
class Need:
    """A package that the project uses.

    Attributes:
        distributions: names on the package index, any one of which will do; the first is the one that the project asks
            for.
        purpose: what it is for.
        extra: the extra of setup.py that brings it; '' if the project itself does.
    """

    distributions: tuple[str, ...]
    purpose: str
    extra: str = ''

    def installed(self) -> list[tuple[str, str]]:
        """(name, version) of each distribution that is installed."""
        return [(name, version) for name in self.distributions if (version := version_of(name)) is not None]


# Distributions that bring the same import package; of two, the files of one overwrite the other's.
_MMCV = ('mmcv-lite', 'mmcv')
_OPENCV = ('opencv-python-headless', 'opencv-python', 'opencv-contrib-python', 'opencv-contrib-python-headless')
REQUIRED = (
    Need(('torch',), 'networks'),
    Need(('mmengine',), 'configs, runner, registries'),
    Need(_MMCV, 'transforms', 'lite'),
    Need(_OPENCV, 'pictures'),
    Need(('pillow',), 'pictures'),
    Need(('simplejpeg',), 'damage in JPEG pictures'),
    Need(('numpy',), 'arrays'),
    Need(('safetensors',), 'weights'),
    Need(('filelock',), 'files shared by processes'),
    Need(('fvcore',), 'operation counts'),
    Need(('rich',), 'progress bars and tables'),
    Need(('pycocotools',), 'key point evaluation'),
    Need(('pyyaml',), 'index of weights'),
    Need(('tensorboard',), 'training curves'),
)
OPTIONAL = (
    Need(('transformers',), 'comparison with the transformers models', 'transformers'),
    Need(('timm',), 'other backbones', 'timm'),
    Need(('scikit-image',), 'the portrait of the quick start', 'demo'),
    Need(('OpenEXR',), 'normals and depth in EXR files', 'exr'),
    Need(('pyarrow',), 'Parquet files for pretraining', 'parquet'),
    Need(('aiohttp',), 'images at addresses for pretraining', 'remote'),
    Need(('anny',), 'bodies of generated people', 'synth'),
    Need(('embreex',), 'ray casting', 'synth'),
    Need(('trimesh',), 'meshes of scans', 'render'),
    Need(('peft',), 'low-rank adapters', 'lora'),
    Need(('bitsandbytes',), '8-bit optimizer', '8bit'),
    Need(('ray',), 'work on a cluster', 'ray'),
    Need(('pytest',), 'tests', 'tests'),
)


def version_of(distribution: str) -> Optional[str]:
    """Version of an installed distribution, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def project_install(extras: Sequence[str]) -> str:
    """The command that installs the project with ``extras`` into this Python, as the documents do it.

    mmengine and mmcv-lite ask for opencv-python, which holds the same files as the headless one. Where another OpenCV
    is installed alone, the command holds pip to its version, so that neither overwrites the other with different files.
    """
    chosen = f'[{",".join(extras)}]' if extras else ''
    place = Path(__file__).resolve().parents[2]
    is_clone = (place / 'setup.py').is_file()
    command = f'{sys.executable} -m pip install -e "{place if is_clone else "."}{chosen}"'
    found = {version for name in _OPENCV if (version := version_of(name)) is not None}
    if version_of('opencv-python') is None and len(found) == 1:
        command += f' "opencv-python=={found.pop()}"'
    return command if is_clone else f'in a clone of the project: {command}'


def package_rows(needs: Sequence[Need]) -> list[tuple[str, str]]:
    """(name, version and purpose) of each need; a missing one with the command that installs it."""
    rows = []
    for need in needs:
        found = need.installed()
        if found:
            rows += [(name, f'{version}  ({need.purpose})') for name, version in found]
        else:
            rows.append((need.distributions[0],
                         f'missing  ({need.purpose}): {project_install([need.extra] if need.extra else [])}'))
    return rows


def system_rows() -> list[tuple[str, str]]:
    """Python, operating system, CPU cores and memory."""
    rows = [('Python', f'{platform.python_version()} ({sys.executable})'), ('System', platform.platform()),
            ('CPU cores', f'{usable_cores()} usable of {os.cpu_count()}')]
    total, available = memory_gib()
    rows.append(('Memory', 'unknown' if total is None else f'{total:.1f} GiB'
                 + ('' if available is None else f', {available:.1f} GiB available')))
    return rows


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def memory_gib() -> tuple[Optional[float], Optional[float]]:
    """Memory of the machine, or of the container that limits this process, and what of it is available."""
    total = available = None
    table = Path('/proc/meminfo')
    if table.is_file():
        values = dict(line.split(':', 1) for line in table.read_text(encoding='utf-8').splitlines() if ':' in line)
        total, available = (int(values[key].split()[0]) / 2**20 if key in values else None
                            for key in ('MemTotal', 'MemAvailable'))
    elif hasattr(os, 'sysconf') and {'SC_PAGE_SIZE', 'SC_PHYS_PAGES'} <= os.sysconf_names.keys():
        total = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30
    limit = Path('/sys/fs/cgroup/memory.max')
    if limit.is_file() and (text := limit.read_text(encoding='utf-8').strip()).isdigit():
        total = min(total or float('inf'), int(text) / 2**30)
        available = None if available is None else min(available, total)
    return total, available


def torch_rows() -> list[tuple[str, str]]:
    """How torch was built, the devices it sees, and what `--device auto --dtype auto` takes.

    Raises:
        ImportError, OSError: if torch does not load.
    """
    import torch

    from sapiens2.utils.devices import cpu_has_bf16, pick_device, pick_dtype
    rows = [('torch build', f'{torch.__version__}, CUDA {torch.version.cuda or "none"}, '
                            f'{torch.get_num_threads()} threads'),
            ('CPU', f'{torch.backends.cpu.get_cpu_capability()}, bf16 {"yes" if cpu_has_bf16() else "no"}')]
    for index in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(index)
        rows.append((f'cuda:{index}', f'{device.name}, {device.total_memory / 2**30:.1f} GiB, '
                                      f'compute capability {device.major}.{device.minor}'))
    rows.append(('mps', 'yes' if torch.backends.mps.is_available() else 'no'))
    device = pick_device()
    rows.append(('auto', f'device {device.type}, dtype {str(pick_dtype("auto", device)).removeprefix("torch.")}'))
    return rows


def package_problems() -> list[str]:
    """What keeps the project from working, each with its remedy."""
    problems = []
    missing = [need for need in REQUIRED if not need.installed()]
    if missing:
        extras = sorted({need.extra for need in missing} - {''})
        problems.append(f'missing: {", ".join(need.distributions[0] for need in missing)}. {project_install(extras)}')
    for group in (_OPENCV, _MMCV):
        found = {name: version for name in group if (version := version_of(name)) is not None}
        # Of one version they hold the same files: mmengine and mmcv-lite bring opencv-python in any case.
        if len(set(found.values())) > 1:
            problems.append(
                f'{" and ".join(f"{name} {version}" for name, version in found.items())} are installed together and '
                f'have overwritten one another\'s files. {_keep_one(found)}')
    for name in ('cv2', 'mmcv', 'mmengine', 'numpy'):
        try:
            importlib.import_module(name)
        except Exception as error:  # a broken installation may raise anything, and the report must go on
            problems.append(f'{name} does not import: {type(error).__name__}: {error}')
    return problems


def _keep_one(found: Mapping[str, str]) -> str:
    """How to get rid of all but the first of several distributions with the same files.

    Removing one takes files of the others away, so the one that stays is installed again, without what it depends on.
    """
    kept = next(iter(found))
    return (f'Keep one: {sys.executable} -m pip uninstall -y {" ".join(found)} && {sys.executable} -m pip install '
            f'--no-deps {kept}=={found[kept]}')


def torch_problems() -> list[str]:
    """Problems of torch and its devices.

    Raises:
        ImportError, OSError: if torch does not load.
    """
    import torch
    problems = []
    if shutil.which('nvidia-smi') and not torch.cuda.is_available():
        why = 'this torch is a CPU build' if torch.version.cuda is None \
            else f'torch was built for CUDA {torch.version.cuda}, which the driver may not support'
        problems.append(f'there is an NVIDIA driver, but torch does not see a GPU: {why}. '
                        'Install the build for your driver from https://pytorch.org/get-started')
    return problems
