#!/usr/bin/env bash
# Set up .venv when needed, then train and test a small network of each task. Arguments go to tools/quickstart.py.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup_env.sh"
setup_env runtime lite demo synth
cd "$ROOT"
exec "$VENV_PYTHON" tools/quickstart.py "$@"
