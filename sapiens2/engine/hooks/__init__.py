"""Hooks of the runner."""

from sapiens2.engine.hooks.finite_loss import FiniteLossHook

__all__ = ['FiniteLossHook']
