"""Hooks of the runner."""

from sapiens2.engine.hooks.checkpoint import CheckpointHook
from sapiens2.engine.hooks.collapse import CollapseHook
from sapiens2.engine.hooks.ema import EMAHook
from sapiens2.engine.hooks.finite_loss import FiniteLossHook
from sapiens2.engine.hooks.gradient_norm import GradientNormHook
from sapiens2.engine.hooks.logger import LoggerHook
from sapiens2.engine.hooks.pretraining import PretrainingHook
from sapiens2.engine.hooks.reconstruction_pictures import ReconstructionPicturesHook
from sapiens2.engine.hooks.sample_pictures import SamplePicturesHook
from sapiens2.engine.hooks.stop import StopHook
from sapiens2.engine.hooks.throughput import ThroughputHook
from sapiens2.engine.hooks.unreadable import UnreadableImagesHook
from sapiens2.engine.hooks.weight_decay import WeightDecayHook

__all__ = [
    'CheckpointHook', 'CollapseHook', 'EMAHook', 'FiniteLossHook', 'GradientNormHook', 'LoggerHook', 'PretrainingHook',
    'ReconstructionPicturesHook', 'SamplePicturesHook', 'StopHook', 'ThroughputHook', 'UnreadableImagesHook',
    'WeightDecayHook'
]
