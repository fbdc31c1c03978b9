_base_ = './sapiens2-1b_pointmap_folder-1024x768.py'
train_cfg = dict(max_iters=20_000)
model = dict(backbone=dict(arch='sapiens2_0.4b'))
optim_wrapper = dict(paramwise_cfg=dict(layer_decay_rate=0.8), clip_grad=dict(max_norm=2.0))
