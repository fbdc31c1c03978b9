"""Filled by its owner."""
