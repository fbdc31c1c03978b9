# Small enough to train on a laptop.
_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_tiny.py',
    '../_base_/models/pointmap.py',
    '../_base_/datasets/pointmap_folder.py',
]
image_size = (256, 192)  # (H, W)
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='Resize', size=image_size),
    dict(type='GeneratePointmap'),
    dict(type='PackInputs'),
]
test_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields', for_eval=True),
    dict(type='Resize', size=image_size, keep_ratio=True),
    dict(type='GeneratePointmap'),
    dict(type='PackInputs'),
]

model = dict(
    backbone=dict(arch='sapiens2_tiny', img_size=image_size),
    decode_head=dict(
        upsample_channels=(96, 64, 32, 16),
        conv_out_channels=(16, 16), conv_kernel_sizes=(3, 3),
        scale_conv_out_channels=(64, 32, 16),
        scale_final_layer=(64, 32, 1)))
train_dataloader = dict(batch_size=4, num_workers=1, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(batch_size=4, num_workers=1, dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
