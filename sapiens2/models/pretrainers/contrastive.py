"""The contrastive branch: a student learns what its slowly following teacher says about other views of the same image.

Follows DINO (Caron et al., arXiv 2104.14294) with what DINOv2 (Oquab et al., arXiv 2304.07193) adds: Sinkhorn-Knopp
assignments over all global crops together, and KoLeo. The dense term on patch tokens is that of iBOT (Zhou et al.,
arXiv 2111.07832) with two differences: the student's patches are those that a masked encoder sees, since hidden ones
never reach it, and only some of them are compared, evenly spread, because each costs a row of logits.
"""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import Any, Optional, Union

import torch
from torch import Tensor, nn

from sapiens2.models.pretrainers.assignment import Assignment
from sapiens2.models.pretrainers.assignment_figures import assignment_figures
from sapiens2.models.pretrainers.cross_entropy import other_views, paired_cross_entropy
from sapiens2.models.pretrainers.dino_head import DINOHead
from sapiens2.models.pretrainers.koleo import koleo
from sapiens2.models.pretrainers.schedules import (build_schedule, check_duration, check_number, check_range,
                                                   iterations, known_progress)
from sapiens2.models.pretrainers.teacher import ModulePairs, average_into_teacher, copy_to_teacher
from sapiens2.registry import MODELS, build_from
from sapiens2.utils.suggest import check_names

Config = dict[str, Any]
HEAD_SIZES = {name: parameter.default for name, parameter in inspect.signature(DINOHead).parameters.items()
              if name != 'in_channels'}
DENSE_OPTIONS: Config = dict(weight=1.0, tokens=32, head=None)
ASSIGNMENT = dict(type='Sinkhorn')
TEACHER_TEMP = dict(type='Linear', start=0.04, end=0.07, warmup=0.3)
MOMENTUM = dict(type='Cosine', start=0.992, end=1.0)


@MODELS.register_module()
class ContrastiveBranch(nn.Module):
    """Heads of student and teacher, assignments, and the losses between them.

    Args:
        embed_dims: channels of the tokens (C).
        head: sizes of ``DINOHead``: hidden, bottleneck, prototypes (K) and layers.
        assignment: ``dict(type='Sinkhorn')`` or ``dict(type='Centring')``, with their options.
        student_temp: temperature of the student.
        teacher_temp: temperature of the teacher: a number, or a schedule (``build_schedule``).
        momentum: share of the old teacher that an update keeps, likewise.
        koleo_weight: factor of the KoLeo term, which is summed over global crops; 0 leaves it out.
        freeze_prototypes: so long from the start of the run the prototypes stay as they are: iterations (an integer) or
            a share of the run (a float).
        dense: ``dict(weight=1.0, tokens=32, head=None)`` adds a term on patch tokens: its factor, how many tokens of
            each global crop, and the sizes of a head for them; None takes that of the class tokens.

    Attributes:
        needs_patches: whether there is a dense term.

    Raises:
        ValueError: for unknown options, the nearest offered, and values that cannot be.
    """

    def __init__(self,
                 embed_dims: int,
                 head: Optional[Config] = None,
                 assignment: Config = ASSIGNMENT,
                 student_temp: float = 0.1,
                 teacher_temp: Union[float, Config] = TEACHER_TEMP,
                 momentum: Union[float, Config] = MOMENTUM,
                 koleo_weight: float = 0.1,
                 freeze_prototypes: Union[int, float] = 0.01,
                 dense: Optional[Config] = None) -> None:
        super().__init__()
        check_number(student_temp, 'contrastive.student_temp', above=True)
        check_number(koleo_weight, 'contrastive.koleo_weight')
        check_duration(freeze_prototypes, 'contrastive.freeze_prototypes')
        self.student_temp, self.koleo_weight, self.freeze_prototypes = student_temp, koleo_weight, freeze_prototypes
        self.teacher_temp = build_schedule(teacher_temp, 'contrastive.teacher_temp')
        self.momentum = build_schedule(momentum, 'contrastive.momentum')
        check_range(self.teacher_temp, 'contrastive.teacher_temp', 0, above=True)
        check_range(self.momentum, 'contrastive.momentum', 0, 1)
        sizes = _options(head, HEAD_SIZES, 'contrastive.head')
        self.student_head, self.teacher_head = _student_and_teacher(embed_dims, sizes)
        self.assignment = build_from(MODELS, assignment, prototypes=sizes['prototypes'])
        self.needs_patches = dense is not None
        if dense is not None:
            self.dense = _options(dense, DENSE_OPTIONS, 'contrastive.dense')
            check_number(self.dense['weight'], 'contrastive.dense.weight')
            if self.dense['head'] is not None:
                sizes = _options(self.dense['head'], HEAD_SIZES, 'contrastive.dense.head')
                self.dense_student_head, self.dense_teacher_head = _student_and_teacher(embed_dims, sizes)
            self.dense_assignment = build_from(MODELS, assignment, prototypes=sizes['prototypes'])
        self.register_buffer('teacher_updates', torch.zeros((), dtype=torch.long))
        self._progress: Optional[tuple[int, int]] = None

    def head_pairs(self) -> list[tuple[DINOHead, DINOHead]]:
        """Heads of student and teacher: of class tokens, and of patch tokens if they have their own."""
        pairs = [(self.student_head, self.teacher_head)]
        if hasattr(self, 'dense_student_head'):
            pairs.append((self.dense_student_head, self.dense_teacher_head))
        return pairs

    def set_progress(self, iteration: int, max_iters: int) -> None:
        """Tell the schedules how far the run is: ``iteration`` updates are done of ``max_iters``."""
        self._progress = (iteration, max_iters)
        for student, _ in self.head_pairs():
            student.prototypes.frozen = iteration < iterations(self.freeze_prototypes, max_iters)

    def start_teacher(self, pairs: ModulePairs) -> None:
        """Let teachers begin as their students, unless they have been trained; that is part of the weights.

        Args:
            pairs: (student, teacher) modules besides the heads.
        """
        if self.teacher_updates == 0:
            copy_to_teacher([*pairs, *self.head_pairs()])

    def update_teacher(self, pairs: ModulePairs) -> None:
        """Take the students into their teachers' averages; once an update of the weights. ``pairs`` as above."""
        average_into_teacher([*pairs, *self.head_pairs()], self.momentum(*known_progress(self._progress)))
        self.teacher_updates += 1
        self.assignment.update()
        if self.needs_patches:
            self.dense_assignment.update()

    def release_gradients(self) -> None:
        """Take the gradients, which are zero, from frozen prototypes; before an update of the weights.

        To an optimizer a gradient of zero is a reason to apply momentum and weight decay; none is not.
        """
        for student, _ in self.head_pairs():
            if student.prototypes.frozen:
                student.prototypes.weight.grad = None

    def forward(self,
                student_global: Tensor,
                student_local: Optional[Tensor],
                teacher_global: Tensor,
                student_patches: Optional[Tensor] = None,
                teacher_patches: Optional[Tensor] = None) -> dict[str, Tensor]:
        """Losses by name, and figures of the teacher's assignments (``assignment_figures``).

        Args:
            student_global, teacher_global: class tokens (G, B, C) of the global crops.
            student_local: class tokens (L, B, C) of the local crops, or None.
            student_patches, teacher_patches: (G * B, n, C), crop by crop, patch tokens at the same n places; only
                looked at with a dense term.

        Raises:
            RuntimeError: if ``set_progress`` was never called.
            ValueError: without two views of an image, or without patches where they are needed.
        """
        temperature = self.teacher_temp(*known_progress(self._progress))
        views = student_global if student_local is None else torch.cat((student_global, student_local))
        pairs = other_views(len(teacher_global), len(views))
        targets, output = _assign(self.teacher_head, self.assignment, teacher_global, temperature)
        output['loss_contrastive'] = paired_cross_entropy(self.student_head(views), targets, pairs, self.student_temp)
        if self.koleo_weight:
            output['loss_koleo'] = self.koleo_weight * koleo(student_global)
        if self.needs_patches:
            if student_patches is None or teacher_patches is None:
                raise ValueError('contrastive.dense needs patch tokens of student and teacher')
            crops = len(student_global)
            output.update(self._dense_term(self._chosen(student_patches, crops), self._chosen(teacher_patches, crops),
                                           temperature))
        return output

    def _chosen(self, patches: Tensor, crops: int) -> Tensor:
        """(G * B, n, C) -> (G, B * t, C): at most ``tokens`` of each crop, evenly spread over the n."""
        count = patches.shape[1]
        places = torch.linspace(0, count - 1, min(self.dense['tokens'], count), device=patches.device).round().long()
        return patches[:, places].unflatten(0, (crops, -1)).flatten(1, 2)

    def _dense_term(self, student: Tensor, teacher: Tensor, temperature: float) -> dict[str, Tensor]:
        student_head, teacher_head = self.head_pairs()[-1]
        targets, figures = _assign(teacher_head, self.dense_assignment, teacher, temperature)
        same = [[crop] for crop in range(len(student))]
        loss = paired_cross_entropy(student_head(student), targets, same, self.student_temp)
        return {'loss_dense': self.dense['weight'] * loss,
                **{f'dense_{name}': value for name, value in figures.items()}}


def _options(given: Optional[Config], known: Config, where: str) -> Config:
    """``known`` with what is ``given`` in its place."""
    check_names(given or (), known, where)
    return {**known, **(given or {})}


def _student_and_teacher(embed_dims: int, sizes: Config) -> tuple[DINOHead, DINOHead]:
    student = DINOHead(embed_dims, **sizes)
    return student, deepcopy(student).requires_grad_(False)


def _assign(head: DINOHead, assignment: Assignment, tokens: Tensor,
            temperature: float) -> tuple[Tensor, dict[str, Tensor]]:
    """Assignments (T, N, K) of the teacher's tokens (T, N, C), all taken together, and figures of them."""
    logarithms = assignment(head.targets_input(tokens.detach().flatten(0, 1)), temperature)
    targets = logarithms.exp()
    return targets.unflatten(0, tokens.shape[:2]), assignment_figures(logarithms, targets)
