_base_ = './sapiens2-1b_pretrain_humans-512x384.py'
model = dict(backbone=dict(arch='sapiens2_5b'))
train_dataloader = dict(batch_size=8)
optim_wrapper = dict(paramwise_cfg=dict(layer_decay_rate=0.96))
