"""Hooks of the runner."""

from sapiens2.engine.hooks.ema import EMAHook
from sapiens2.engine.hooks.finite_loss import FiniteLossHook
from sapiens2.engine.hooks.logger import LoggerHook
from sapiens2.engine.hooks.sample_pictures import SamplePicturesHook
from sapiens2.engine.hooks.stop import StopHook
from sapiens2.engine.hooks.unreadable import UnreadableImagesHook

__all__ = ['EMAHook', 'FiniteLossHook', 'LoggerHook', 'SamplePicturesHook', 'StopHook', 'UnreadableImagesHook']
