# Small enough to train on a laptop.
_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_tiny.py',
    '../_base_/models/seg.py',
    '../_base_/datasets/seg_folder.py',
]
image_size = (256, 192)  # (H, W)
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='Resize', size=image_size),
    dict(type='PackInputs'),
]
test_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields', for_eval=True),
    dict(type='Resize', size=image_size),
    dict(type='PackInputs'),
]

model = dict(
    backbone=dict(arch='sapiens2_tiny', img_size=image_size),
    decode_head=dict(deconv_out_channels=(128, 64, 32, 32), conv_out_channels=(32, 32)))
train_dataloader = dict(batch_size=4, num_workers=1, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(batch_size=4, num_workers=1, dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
