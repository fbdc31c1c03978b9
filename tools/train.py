"""Train a model: tools/train.py CONFIG [options]; the same as ``sapiens2 train``."""

import sys

from sapiens2.cli.main import main

if __name__ == '__main__':
    sys.exit(main(['train', *sys.argv[1:]]))
