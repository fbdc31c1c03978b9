"""Networks as files that other programs run: written, checked, and run by the inferencer like any weights."""
