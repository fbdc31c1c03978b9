# The backbone of ViTPose-small, narrowed to as many parameters as sapiens2_tiny has, with the same decoder.
_base_ = '../_base_/pose_128x96.py'
custom_imports = dict(imports=['projects.openmmlab', 'mmpretrain.registry'], allow_failed_imports=False)
model = dict(
    backbone=dict(
        _delete_=True,
        type='OpenMMLabBackbone',
        img_size=(128, 96),
        backbone=dict(
            type='mmpretrain.VisionTransformer',
            arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=576),
            img_size=(128, 96),
            patch_size=16,
            with_cls_token=False,
            out_type='featmap')))
