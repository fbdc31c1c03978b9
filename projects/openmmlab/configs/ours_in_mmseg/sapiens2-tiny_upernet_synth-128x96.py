# UPerNet on four blocks of Sapiens2; no adapter is needed for it.
_base_ = './sapiens2-tiny_sapiens2-head_synth-128x96.py'
model = dict(
    backbone=dict(out_indices=(2, 5, 8, 11)),
    neck=dict(type='Feature2Pyramid', embed_dim=192, rescales=[4, 2, 1, 0.5], norm_cfg=dict(type='BN')),
    decode_head=dict(
        _delete_=True,
        type='UPerHead',
        in_channels=[192] * 4,
        in_index=[0, 1, 2, 3],
        pool_scales=(1, 2, 3),
        channels=64,
        num_classes=29,
        norm_cfg=dict(type='BN'),
        loss_decode=dict(type='CrossEntropyLoss', loss_weight=1.0)))
