"""From nothing to trained, measured and drawn networks of all five tasks: what tools/quickstart.py does."""
