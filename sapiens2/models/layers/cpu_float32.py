"""bf16 networks on CPUs without instructions for bf16: the weights stay bf16, each layer computes in float32.

PyTorch has kernels for bf16 on every CPU, but where the instructions are missing they take ten to three hundred times
as long as float32 (``benchmarks/README.md``). A layer that is about to run gets a float32 copy of its weights, which
lives as long as it computes. Results are rounded to bf16 between layers, so they are at least as exact as in bf16.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Optional, TypeVar

import torch
from torch import Tensor, nn

from sapiens2.models.layers.int8_linear import Int8Linear
from sapiens2.utils.devices import cpu_has_bf16

Module = TypeVar('Module', bound=nn.Module)

has_bf16 = functools.cache(cpu_has_bf16)


def needs_float32(x: Tensor) -> bool:
    """Whether ``x`` is bf16 on a CPU without instructions for it, has values, and no gradient or tracer sees it."""
    return (type(x) is Tensor and x.dtype == torch.bfloat16 and x.device.type == 'cpu' and not has_bf16()
            and not torch.is_grad_enabled() and not torch.is_autocast_enabled('cpu')
            and not torch.compiler.is_compiling() and not torch.jit.is_tracing())


def in_float32(module: Module) -> Module:
    """A copy of ``module`` for inference whose weights in bf16 are float32; all else is shared with ``module``."""
    clone = object.__new__(type(module))  # without what the class does when it makes or copies one: FSDP2's cannot
    clone.__dict__.update(module.__dict__)
    clone.__dict__['_parameters'] = _float32(module._parameters)
    clone.__dict__['_buffers'] = _float32(module._buffers)
    clone.__dict__['_modules'] = {name: None if child is None else in_float32(child)
                                  for name, child in module._modules.items()}
    if isinstance(clone, Int8Linear):
        clone.dtype = torch.float32
    return clone


def _float32(tensors: Mapping[str, Optional[Tensor]]) -> dict[str, Optional[Tensor]]:
    return {name: tensor.detach().float() if tensor is not None and tensor.dtype == torch.bfloat16 else tensor
            for name, tensor in tensors.items()}
