#!/usr/bin/env bash
# Make the environment of this project, with XTuner and this checkout of sapiens2. Linux, Python 3.11 or 3.12, 7 GB.
#   VENV=/path/to/environment   where it goes (default: .venv in this folder)
#   PYTHON=/path/to/python      which interpreter it is made with
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
venv="${VENV:-$here/.venv}"

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3.11 python3.12 python3; do
        if "$candidate" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' \
            2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    echo "XTuner 0.2.0 needs Python 3.11 or 3.12 with the venv module, and none was found. Name one:" \
        "PYTHON=/path/to/python bash $0" >&2
    return 1
}

if ! "$venv/bin/python" -c '' 2>/dev/null; then
    python="$(find_python)"
    echo "Making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi
pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
echo "Installing (several GB the first time)"
"${pip[@]}" "setuptools<81" wheel -r "$here/requirements.txt"
"${pip[@]}" --no-deps -r "$here/requirements_alone.txt"
"${pip[@]}" --no-deps --no-build-isolation --editable "$root"
"$venv/bin/python" - <<'PROGRAM'
import torch
import xtuner
from xtuner.model import LLaVAModel

from sapiens2.models.backbones import Sapiens2

print(f'xtuner {xtuner.__version__}, torch {torch.__version__}, GPU: {torch.cuda.is_available()}')
PROGRAM
echo "Next: source $venv/bin/activate"
