"""Pretraining: masked reconstruction, contrastive learning, and the two together."""

from sapiens2.models.pretrainers.assignment import Centring, Sinkhorn
from sapiens2.models.pretrainers.contrastive import ContrastiveBranch
from sapiens2.models.pretrainers.mae import MAEBranch
from sapiens2.models.pretrainers.pretrainer import Sapiens2Pretrainer
from sapiens2.models.pretrainers.schedules import build_schedule

__all__ = ['Centring', 'ContrastiveBranch', 'MAEBranch', 'Sapiens2Pretrainer', 'Sinkhorn', 'build_schedule']
