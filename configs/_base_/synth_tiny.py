# What the tiny recipes on generated people (`sapiens2 synth`) share; the steps end before the targets and the packing.
synth_steps = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomAreaCrop', area_range=(0.3, 1.0), aspect_range=(0.6, 0.95), prob=0.5),
    dict(type='RandomFlip', prob=0.5),
    dict(type='Resize', size=(256, 192)),
    dict(type='PhotometricDistortion'),
]
synth_pack = [dict(type='PackInputs')]
# Attention counts from the first update on, instead of growing from a ten-thousandth of its size.
synth_model = dict(backbone=dict(
    init_cfg=[dict(type='TruncNormal', layer='Linear', std=0.06), dict(type='Constant', layer='LayerScale', val=1.0)]))
synth_loader = dict(batch_size=8, num_workers=1)
synth_train = dict(max_iters=4000, val_interval=1000)
synth_optim = dict(optimizer=dict(lr=1.5e-3), paramwise_cfg=dict(custom_keys={'attn.gamma': dict(lr_mult=1.0)}))
