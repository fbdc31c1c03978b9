#!/usr/bin/env bash
# Train on machines of a Slurm cluster: sbatch [options] tools/slurm_train.sh CONFIG [options of tools/train.py]
# One task a machine starts the processes of its GPUs, and starts them again when one has failed, up to MAX_RESTARTS
# times; --resume is always given, so that they go on from the newest checkpoint. So does a job that Slurm has taken off
# the machines and starts again. PROCESSES sets how many there are on a machine (default: one a GPU), LOG_DIR where the
# output of every one goes.
#SBATCH --job-name=sapiens2
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=96
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --signal=SIGTERM@120
set -euo pipefail

if [ $# -lt 1 ]; then
    echo "usage: sbatch [options] $0 CONFIG [options of tools/train.py]" >&2
    exit 2
fi
config=$1
shift
if [[ " $* " != *" --resume "* ]]; then set -- "$@" --resume; fi
here=${SAPIENS2_ROOT:-${SLURM_SUBMIT_DIR:-$PWD}}
if [ ! -f "$here/tools/train.py" ]; then
    echo "$0: no tools/train.py in $here: submit from the repository, or set SAPIENS2_ROOT" >&2
    exit 2
fi
nodes=${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:?not in a Slurm job: start with sbatch, or use tools/dist_train.sh}}
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
logs=${LOG_DIR:-work_dirs/processes/$(basename "$config" .py)}/$SLURM_JOB_ID
mkdir -p "$logs"
echo "$0: the output of every process goes to $logs" >&2
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
# Each start gets a store of its own; in a shared one, processes would find the addresses of those that are gone.
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
# Seconds that processes have after SIGTERM to finish an iteration and save it; torchrun kills them then. It allows 30.
export TORCH_ELASTIC_SHUTDOWN_TIMEOUT=${TORCH_ELASTIC_SHUTDOWN_TIMEOUT:-110}
# What torch and MMEngine would set themselves, with warnings.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} MKL_NUM_THREADS=${MKL_NUM_THREADS:-1}

# srun ends all machines when one cannot go on; processes on each machine are torchrun's.
exec srun --kill-on-bad-exit=1 --output="$logs/node-%n.txt" --error="$logs/node-%n.txt" \
    python -m torch.distributed.run \
    --nnodes "$nodes" --nproc-per-node "${PROCESSES:-${SLURM_GPUS_ON_NODE:-gpu}}" \
    --rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$first:${MASTER_PORT:-29500}" \
    --max-restarts "${MAX_RESTARTS:-3}" --log-dir "$logs" --tee 3 --local-ranks-filter 0 \
    "$here/tools/train.py" "$config" --launcher pytorch "$@"
