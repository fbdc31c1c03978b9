# What the tiny recipes of the dense tasks share: small enough to train on a laptop. Leaves put these where they belong.
tiny_size = (256, 192)  # (H, W)
tiny_backbone = dict(arch='sapiens2_tiny', img_size=tiny_size)
tiny_decoder = dict(upsample_channels=(64, 32, 24, 16), conv_out_channels=(16,), conv_kernel_sizes=(3,))
tiny_loader = dict(batch_size=4, num_workers=1)
tiny_train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='Resize', size=tiny_size),
    dict(type='PackInputs'),
]
tiny_test_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields', for_eval=True),
    dict(type='Resize', size=tiny_size, keep_ratio=True),
    dict(type='PackInputs'),
]
