#!/usr/bin/env bash
# Make .venv-baselines, in which MMPose, MMSegmentation, MMPretrain and sapiens2 run together. mmcv is compiled, which
# needs a C++ compiler and takes a while; the wheel is kept, and what was done already is not done again.
# SAPIENS2_BASELINES_VENV: another folder for the environment. SAPIENS2_BASELINES_WHEELS: another folder for the wheel.
# MAX_JOBS: how many files are compiled at once (default: as many as there are cores; each takes about 2 GB).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup_env.sh"
VENV="${SAPIENS2_BASELINES_VENV:-$ROOT/.venv-baselines}"
VENV_PYTHON="$VENV/bin/python"
WHEELS="${SAPIENS2_BASELINES_WHEELS:-$VENV/wheels}"
CONSTRAINTS="$ROOT/requirements/baselines-constraints.txt"

install() {
    "$VENV_PYTHON" -m pip install --quiet --disable-pip-version-check --constraint "$CONSTRAINTS" "$@"
}

# Source of mmcv to a wheel in $kept.
compile() {
    "$VENV_PYTHON" -m pip download --disable-pip-version-check --no-deps --no-build-isolation --no-binary mmcv \
        --constraint "$CONSTRAINTS" --dest "$kept/source" mmcv || return 1
    tar -xzf "$kept"/source/mmcv-*.tar.gz -C "$kept/source" --strip-components 1 || return 1
    # This release of mmcv asks for C++14 or C++17; the headers of torch want C++20 from 2.14 on.
    sed -i.bak 's/-std=c++1[47]/-std=c++20/g' "$kept/source/setup.py" || return 1
    # The folder of bin/ holds ninja, without which files are compiled one after the other.
    PATH="$VENV/bin:$PATH" MMCV_WITH_OPS=1 MAX_JOBS="$jobs" "$VENV_PYTHON" -m pip wheel -v \
        --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$kept" "$kept/source"
}

stamp="$VENV/.installed-baselines"
wanted="$(cat "$ROOT"/requirements/baselines*.txt "$ROOT"/requirements/runtime.txt "$ROOT/setup.py" | cksum)"
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && "$VENV_PYTHON" -c '' 2>/dev/null; then
    echo "$VENV is ready"
    exit 0
fi
if ! "$VENV_PYTHON" -c '' 2>/dev/null; then
    python="$(find_python)"
    echo "Making $VENV with $("$python" --version)"
    "$python" -m venv "$VENV"
    echo "*" >"$VENV/.gitignore"
fi
echo "Installing torch and what the packages need (several GB)"
install "setuptools<81" wheel ninja pytest -r "$ROOT/requirements/baselines.txt"

# Compiled operations fit one version of torch and of Python only.
tags="$("$VENV_PYTHON" -c 'import sys, torch; print(f"torch{torch.__version__}-py{sys.version_info[0]}{sys.version_info[1]}")')"
kept="$WHEELS/$tags"
if ! compgen -G "$kept/mmcv-*.whl" >/dev/null; then
    if ! command -v c++ >/dev/null; then
        echo "mmcv has to be compiled, and there is no C++ compiler (c++). Install one (Debian: apt-get install g++)" >&2
        exit 1
    fi
    mkdir -p "$kept/source"
    jobs="${MAX_JOBS:-$(getconf _NPROCESSORS_ONLN)}"
    log="$kept/build.log"
    echo "Compiling mmcv with $jobs jobs (about a quarter of an hour on two idle cores); output: $log"
    if ! compile >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        echo "Compiling mmcv failed; the whole output is in $log. With little memory try MAX_JOBS=1" >&2
        exit 1
    fi
    rm -r "$kept/source"
fi
echo "Installing MMPose, MMSegmentation, MMPretrain and sapiens2"
install --no-deps --no-build-isolation "$kept"/mmcv-*.whl -r "$ROOT/requirements/baselines-alone.txt"
# As in setup_env.sh: of the two builds of OpenCV the headless one must remain.
"$VENV_PYTHON" -m pip uninstall --quiet --yes opencv-python opencv-python-headless
install --no-deps opencv-python-headless
install --no-deps --no-build-isolation --editable "$ROOT"
"$VENV_PYTHON" -c 'import mmcv.ops, mmpose.models, mmpretrain.models, mmseg.models, sapiens2; print("all packages import")'
echo "$wanted" >"$stamp"
echo "Ready: source $VENV/bin/activate"
