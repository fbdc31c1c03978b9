"""What a benchmark ran on: versions and hardware, which every table states."""

from __future__ import annotations

import platform

import torch

from sapiens2.utils.devices import cpu_table
from sapiens2.utils.environment import memory_gib, usable_cores, version_of
from sapiens2.version import __version__

# Packages that may change a figure or a speed.
_PACKAGES = ('torch', 'mmengine', 'numpy', 'opencv-python-headless', 'pycocotools', 'transformers', 'timm')


def versions() -> dict[str, str]:
    """Versions of this project, of Python and of the packages that are installed, by name."""
    found = {name: version_of(name) for name in _PACKAGES}
    return {'sapiens2': __version__, 'python': platform.python_version(),
            **{name: version for name, version in found.items() if version is not None}}


def hardware() -> dict[str, str]:
    """Processor, cores and threads, memory and GPUs, in words."""
    memory = memory_gib()[0]
    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return {'processor': f'{_processor()}, {torch.backends.cpu.get_cpu_capability()}',
            'cores': f'{usable_cores()}, {torch.get_num_threads()} threads',
            'memory': 'unknown' if memory is None else f'{memory:.1f} GiB',
            'gpu': ', '.join(gpus) or 'none', 'system': platform.platform()}


def _processor() -> str:
    """Name of the processor, as far as the system tells it."""
    return next(iter(cpu_table('model name')), platform.processor() or platform.machine())
