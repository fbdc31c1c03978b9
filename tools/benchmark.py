"""Measure models in the same way and write one table: tools/benchmark.py SPEC.yml --out DIR [options]."""

import sys

from sapiens2.evaluation.benchmark.command import main

if __name__ == '__main__':
    sys.exit(main())
