#!/usr/bin/env bash
# Train with several processes on one machine or more: tools/dist_train.sh CONFIG PROCESSES [options of tools/train.py]
# For several machines set NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT: how many there are, which one this is (from
# 0), and where the first one listens.
# MAX_RESTARTS=n starts all processes anew, up to n times, when one has failed; give --resume with it, so that they go
# on from the newest checkpoint. The screen shows the first process; LOG_DIR gets the output of every one.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 CONFIG PROCESSES [options of tools/train.py]" >&2
    exit 2
fi
config=$1
processes=$2
shift 2
if [[ ! "$processes" =~ ^([1-9][0-9]*|gpu|cpu|auto)$ ]]; then
    echo "$0: PROCESSES must be a whole number of at least 1, or gpu for one a GPU here, got '$processes'" >&2
    exit 2
fi
restarts=${MAX_RESTARTS:-0}
if [ "$restarts" -gt 0 ] && [[ " $* " != *" --resume "* ]]; then
    echo "$0: MAX_RESTARTS=$restarts needs --resume: without it every start would begin at iteration 0" >&2
    exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=${LOG_DIR:-work_dirs/processes/$(basename "$config" .py)}
mkdir -p "$logs"
echo "$0: the output of every process goes to $logs" >&2
# Each start gets a store of its own; in a shared one, processes would find the addresses of those that are gone.
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
# Seconds that processes have after SIGTERM to finish an iteration and save it; torchrun kills them then. It allows 30.
export TORCH_ELASTIC_SHUTDOWN_TIMEOUT=${TORCH_ELASTIC_SHUTDOWN_TIMEOUT:-110}
# What torch and MMEngine would set themselves, with warnings.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} MKL_NUM_THREADS=${MKL_NUM_THREADS:-1}

PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}" exec python -m torch.distributed.run \
    --nnodes "${NNODES:-1}" --nproc-per-node "$processes" \
    --rdzv-backend c10d --rdzv-endpoint "${MASTER_ADDR:-127.0.0.1}:${MASTER_PORT:-29500}" --rdzv-id "${RUN_ID:-train}" \
    --rdzv-conf "is_host=$([ "${NODE_RANK:-0}" = 0 ] && echo true || echo false)" \
    --max-restarts "$restarts" --log-dir "$logs" --tee 3 --local-ranks-filter 0 \
    "$here/tools/train.py" "$config" --launcher pytorch "$@"
