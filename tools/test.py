"""Measure a checkpoint: tools/test.py CONFIG CHECKPOINT [options]; the same as ``sapiens2 test``."""

import sys

from sapiens2.cli.main import main

if __name__ == '__main__':
    sys.exit(main(['test', *sys.argv[1:]]))
