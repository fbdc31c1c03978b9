#!/usr/bin/env bash
# Run the tests in .venv, which is made and filled when needed. Arguments go to pytest: tools/run_tests.sh -k golden
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup_env.sh"
setup_env runtime lite tests
cd "$ROOT"
exec "$VENV_PYTHON" -m pytest "$@"
