_base_ = './sapiens2-tiny_pretrain_synth-256x192.py'
model = dict(mae=None)
