"""``python -m sapiens2.cli``."""

import sys

from sapiens2.cli.main import main

if __name__ == '__main__':
    sys.exit(main())
