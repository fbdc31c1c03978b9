#!/usr/bin/env bash
# Train with several processes on one machine or more: tools/dist_train.sh CONFIG PROCESSES [options of tools/train.py]
# For several machines set NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 CONFIG PROCESSES [options of tools/train.py]" >&2
    exit 2
fi
config=$1
processes=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}" exec python -m torch.distributed.run \
    --nnodes "${NNODES:-1}" --node-rank "${NODE_RANK:-0}" --nproc-per-node "$processes" \
    --master-addr "${MASTER_ADDR:-127.0.0.1}" --master-port "${MASTER_PORT:-29500}" \
    "$here/tools/train.py" "$config" --launcher pytorch "$@"
