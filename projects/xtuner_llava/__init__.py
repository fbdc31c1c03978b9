"""Sapiens2 as the visual encoder of a LLaVA model in XTuner: see README.md."""
