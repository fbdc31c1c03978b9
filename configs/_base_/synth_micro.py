# What the recipes of tools/quickstart.sh share: generated people, and networks that learn in minutes on a CPU.
micro_size = (128, 96)  # (H, W)
# For a short training attention counts from the first update on, instead of growing from a ten-thousandth of its size.
micro_backbone = dict(
    arch='sapiens2_micro', img_size=micro_size,
    init_cfg=[dict(type='TruncNormal', layer='Linear', std=0.08), dict(type='Constant', layer='LayerScale', val=1.0)])
micro_decoder = dict(upsample_channels=(48, 32, 16, 8), conv_out_channels=(8,), conv_kernel_sizes=(3,))
micro_optim = dict(optimizer=dict(lr=3e-3), paramwise_cfg=dict(custom_keys={'attn.gamma': dict(lr_mult=1.0)}))
micro_loader = dict(batch_size=8, num_workers=1)
micro_steps = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomAreaCrop', area_range=(0.4, 1.0), aspect_range=(0.65, 0.9), prob=0.5),
    dict(type='RandomFlip', prob=0.5),
    dict(type='Resize', size=micro_size),
    dict(type='PhotometricDistortion', prob=0.5),
]
micro_test_steps = [
    dict(type='LoadImage'),
    dict(type='LoadFields', for_eval=True),
    dict(type='Resize', size=micro_size, keep_ratio=True),
]
micro_pack = [dict(type='PackInputs')]
