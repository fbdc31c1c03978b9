"""Projects are found from the root of the repository, wherever the tests are started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
