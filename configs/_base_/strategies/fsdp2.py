# The model is divided among the processes. Start with tools/dist_train.sh or tools/slurm_train.sh.
strategy = dict(type='FSDP2')
