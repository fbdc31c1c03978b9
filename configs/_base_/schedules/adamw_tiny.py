# For networks that are small and trained from nothing: all layers alike, a short warm-up.
_base_ = './adamw_warmup_poly.py'
train_cfg = dict(max_iters=1000, val_interval=200)
# Attention starts at a ten-thousandth of its size (gamma), which it cannot leave fast enough at the rate of the others.
optim_wrapper = dict(
    optimizer=dict(lr=1e-3),
    paramwise_cfg=dict(layer_decay_rate=1.0, custom_keys={'attn.gamma': dict(lr_mult=10.0)}))
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-3, begin=0, end=51, by_epoch=False),
    dict(type='PolyLR', eta_min=0.0, power=1.0, begin=50, by_epoch=False),
]
