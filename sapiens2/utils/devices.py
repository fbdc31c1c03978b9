"""Choice of device and number format for inference."""

from __future__ import annotations

from pathlib import Path

import torch

from sapiens2.utils.suggest import UnknownNameError, unknown_name

DEVICES = ('auto', 'cuda', 'mps', 'cpu')
# Every place that takes a dtype by name takes the short and the long one.
DTYPES = {'bf16': torch.bfloat16, 'bfloat16': torch.bfloat16, 'fp16': torch.float16, 'float16': torch.float16,
          'fp32': torch.float32, 'float32': torch.float32}
# What x86 and Arm call the instructions without which bf16 on a CPU is slower than float32.
_BF16_FEATURES = ('avx512_bf16', 'amx_bf16', 'bf16', 'sve_bf16')


def cpu_features() -> set[str]:
    """Names of the CPU's instruction sets; empty where neither torch nor the system tells."""
    if hasattr(torch.cpu, 'get_capabilities'):
        return {name for name, present in torch.cpu.get_capabilities().items() if present is True}
    return {word for text in cpu_table('flags', 'features') for word in text.split()}


def cpu_table(*names: str) -> list[str]:
    """What Linux tells of the CPUs under names, one text for each core; empty on other systems."""
    table = Path('/proc/cpuinfo')
    lines = table.read_text(encoding='utf-8', errors='replace').splitlines() if table.is_file() else []
    return [line.partition(':')[2].strip() for line in lines if line.lower().startswith(names)]


def cpu_has_bf16() -> bool:
    """Whether the CPU multiplies bf16 matrices in hardware."""
    return not cpu_features().isdisjoint(_BF16_FEATURES)


def pick_device(name: str = 'auto') -> torch.device:
    """The device called ``name`` ('cuda:1' is one too); 'auto' takes the first of cuda, mps and cpu that is there.

    Raises:
        ValueError: if there is no device of that name here.
    """
    available = {'cuda': torch.cuda.is_available(), 'mps': torch.backends.mps.is_available(), 'cpu': True}
    if name == 'auto':
        return torch.device(next(kind for kind, is_there in available.items() if is_there))
    kind, _, number = str(name).partition(':')
    if kind not in available:
        raise UnknownNameError(unknown_name(name, DEVICES, 'device'))
    if not available[kind]:
        raise ValueError(f'device {name!r} is not available here: torch {torch.__version__} sees '
                         + ', '.join(kind for kind, is_there in available.items() if is_there)
                         + '. `sapiens2 doctor` says more')
    if kind == 'cuda' and number and (not number.isdigit() or int(number) >= torch.cuda.device_count()):
        raise ValueError(f'device {name!r} is not available here: there are {torch.cuda.device_count()} CUDA devices, '
                         'counted from 0')
    return torch.device(name)


def pick_dtype(name: str, device: torch.device) -> torch.dtype:
    """'bf16' or 'fp32', or their long names; 'auto' is bf16 where the device computes in it, float32 elsewhere.

    Raises:
        ValueError: for another name.
    """
    if name == 'auto':
        has_bf16 = cpu_has_bf16() if device.type == 'cpu' else device.type == 'cuda' and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if has_bf16 else torch.float32
    # fp16 is for stored weights only: its range is small, and the networks are not tried in it.
    known = [name for name, dtype in DTYPES.items() if dtype != torch.float16]
    if name not in known:
        raise UnknownNameError(unknown_name(name, ('auto', *known), 'dtype to compute in'))
    return DTYPES[name]


def dtype_named(name: str) -> torch.dtype:
    """The floating-point dtype called ``name``, one of ``DTYPES``.

    Raises:
        UnknownNameError: if there is none.
    """
    if name not in DTYPES:
        raise UnknownNameError(unknown_name(name, DTYPES, 'dtype'))
    return DTYPES[name]
