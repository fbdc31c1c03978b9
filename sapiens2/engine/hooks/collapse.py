"""Notices contrastive learning that has collapsed: every picture gets the same answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Optional

from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor

from sapiens2.registry import HOOKS

_SAME = ('All samples get the same assignment to prototypes ({term}prototype_kl {kl:.2g} nats, {term}teacher_entropy '
         '{entropy:.2f} of {largest:.2f}), and that for {stretch} iterations: ')
_UNIFORM = ('it is uniform, so the student learns nothing from the teacher. Lower contrastive.teacher_temp or let it '
            'rise later, lower the learning rate or lengthen its warm-up, use larger batches, raise koleo_weight, and '
            'check that the pictures differ.')
_ONE = ("a single prototype gets everything. Use contrastive.assignment=dict(type='Sinkhorn'), raise teacher_temp, "
        'let the centre follow faster (a lower momentum of Centring), and lower the learning rate.')
_FEW = ('the teacher looks at nothing that tells pictures apart. Lower the learning rate or lengthen its warm-up, let '
        'the teacher follow more slowly (momentum nearer to 1), raise koleo_weight, and check that the pictures differ.'
        )


@HOOKS.register_module()
class CollapseHook(Hook):
    """Warns when the teacher's assignments have told nothing about the samples for some time, and what to change.

    Looks at ``prototype_kl`` of the log, the mean divergence of an assignment from the mean one: it is 0 in both
    trivial states, all samples uniform over the prototypes and all on one. ``teacher_entropy`` tells these apart. A
    dense term is looked at in the same way. An untrained network may be close to the first state: hence the patience.
    Assignments that tell little, to a few prototypes only, are no reason for a warning: see ``prototypes_used``.

    Args:
        min_kl: a mean divergence, in nats, below this is trivial.
        patience: iterations in a row after which a warning is given, and again after as many more.

    Raises:
        ValueError: for values below zero, or no patience.
    """

    def __init__(self, min_kl: float = 0.02, patience: int = 500) -> None:
        if min_kl < 0 or patience < 1:
            raise ValueError('custom_hooks: CollapseHook needs min_kl of at least 0 and patience of at least 1, got '
                             f'{min_kl} and {patience}')
        self.min_kl, self.patience = min_kl, patience
        self._stretches = {'': 0, 'dense_': 0}

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping] = None,
                         outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Count trivial iterations, and warn."""
        for term, stretch in self._stretches.items():
            kl = (outputs or {}).get(f'{term}prototype_kl')
            if kl is None:
                continue
            stretch = stretch + 1 if float(kl) < self.min_kl else 0
            self._stretches[term] = stretch
            if stretch and stretch % self.patience == 0:
                entropy, largest = float(outputs[f'{term}teacher_entropy']), self._largest_entropy(runner, term)
                share = entropy / max(largest, 1e-6)
                advice = _UNIFORM if share > 0.95 else _ONE if share < 0.05 else _FEW
                runner.logger.warning(_SAME.format(term=term, kl=float(kl), entropy=entropy, largest=largest,
                                                   stretch=stretch) + advice)

    @staticmethod
    def _largest_entropy(runner: Runner, term: str) -> float:
        branch = runner.bare_model.contrastive
        student, _ = branch.head_pairs()[-1 if term else 0]
        return math.log(student.prototypes.weight.shape[0])
