"""The teacher: an exponential moving average of the student (DINO, Caron et al., arXiv 2104.14294)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sapiens2.utils.own_part import own_part

# (student, teacher) modules of the same structure.
ModulePairs = Sequence[tuple[nn.Module, nn.Module]]


@torch.no_grad()
def copy_to_teacher(pairs: ModulePairs) -> None:
    """Give each teacher the parameters and buffers of its student."""
    for student, teacher in pairs:
        teacher.load_state_dict(student.state_dict())


@torch.no_grad()
def average_into_teacher(pairs: ModulePairs, momentum: float) -> None:
    """teacher = momentum * teacher + (1 - momentum) * student, for parameters and floating-point buffers.

    Other buffers (counters) are copied.

    Raises:
        ValueError: if a student and its teacher differ in structure.
    """
    students: list[Tensor] = []
    teachers: list[Tensor] = []
    for student, teacher in pairs:
        own, averages = (dict([*module.named_parameters(), *module.named_buffers()]) for module in (student, teacher))
        if own.keys() != averages.keys():
            raise ValueError(f'teacher and student differ in {", ".join(sorted(own.keys() ^ averages.keys())[:5])}')
        for name, value in own.items():
            if value.is_floating_point():
                # They are divided alike.
                students.append(own_part(value.detach()))
                teachers.append(own_part(averages[name].detach()))
            else:
                averages[name].copy_(value)
    torch._foreach_lerp_(teachers, students, 1 - momentum)
