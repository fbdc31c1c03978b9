_base_ = './sapiens2-1b_seg_folder-1024x768.py'
train_cfg = dict(max_iters=50_000)
model = dict(backbone=dict(arch='sapiens2_5b'))
optim_wrapper = dict(paramwise_cfg=dict(layer_decay_rate=0.94))
