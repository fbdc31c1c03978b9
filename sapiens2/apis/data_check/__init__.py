"""Whole data sets, checked and looked at: what is behind ``sapiens2 data check`` and ``sapiens2 data browse``."""
