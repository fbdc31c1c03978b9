# HRNet of 18 channels, two residual blocks a branch. Its maps are as large as the heat maps: one layer decodes them.
_base_ = '../_base_/pose_128x96.py'
custom_imports = dict(imports=['projects.openmmlab', 'mmpose.registry'], allow_failed_imports=False)
blocks = 2
model = dict(
    backbone=dict(
        _delete_=True,
        type='OpenMMLabBackbone',
        img_size=(128, 96),
        backbone=dict(
            type='mmpose.HRNet',
            in_channels=3,
            extra=dict(
                stage1=dict(
                    num_modules=1, num_branches=1, block='BOTTLENECK', num_blocks=(blocks,), num_channels=(64,)),
                stage2=dict(
                    num_modules=1, num_branches=2, block='BASIC', num_blocks=(blocks,) * 2, num_channels=(18, 36)),
                stage3=dict(
                    num_modules=1, num_branches=3, block='BASIC', num_blocks=(blocks,) * 3, num_channels=(18, 36, 72)),
                stage4=dict(
                    num_modules=1, num_branches=4, block='BASIC', num_blocks=(blocks,) * 4,
                    num_channels=(18, 36, 72, 144))))),
    decode_head=dict(
        deconv_out_channels=(), deconv_kernel_sizes=(), conv_out_channels=(), conv_kernel_sizes=()))
