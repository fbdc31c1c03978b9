_base_ = '../_base_/seg_128x96.py'
custom_imports = dict(imports=['projects.openmmlab', 'mmseg.registry'], allow_failed_imports=False)
model = dict(
    backbone=dict(
        _delete_=True,
        type='OpenMMLabBackbone',
        img_size=(128, 96),
        backbone=dict(
            type='mmseg.MixVisionTransformer',
            embed_dims=32,
            num_layers=(2, 2, 2, 2),
            num_heads=(1, 2, 5, 8),
            patch_sizes=(7, 3, 3, 3),
            sr_ratios=(8, 4, 2, 1),
            out_indices=(0, 1, 2, 3),
            mlp_ratio=4,
            qkv_bias=True)),
    decode_head=dict(
        _delete_=True,
        type='OpenMMLabSegHead',
        head=dict(
            type='mmseg.SegformerHead',
            in_channels=(32, 64, 160, 256),
            in_index=(0, 1, 2, 3),
            channels=256,
            num_classes=29,
            norm_cfg=dict(type='BN')),
        loss_decode=_base_.model.decode_head.loss_decode))
