# Small enough to over-fit a few photographs on a laptop: no augmentation, and the same people for training and test.
_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_tiny.py',
    '../_base_/models/pose.py',
    '../_base_/datasets/coco_wholebody.py',
]
data_root = 'data/coco_few'
ann_file = 'annotations.json'
codec = dict(type='UDPHeatmap', input_size=(192, 256), heatmap_size=(48, 64), sigma=2)
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='TopdownAffine', input_size=codec['input_size']),
    dict(type='GenerateHeatmaps', codec=codec),
    dict(type='PackInputs'),
]
test_pipeline = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='TopdownAffine', input_size=codec['input_size']),
    dict(type='PackInputs'),
]
people = dict(data_root=data_root, ann_file=ann_file, data_prefix=dict(img_path=''))

model = dict(
    backbone=dict(arch='sapiens2_tiny', img_size=(256, 192)),
    decode_head=dict(deconv_out_channels=(128, 64), conv_out_channels=(64, 64), conv_kernel_sizes=(1, 1)),
    test_cfg=dict(flip_test=False))
train_dataloader = dict(batch_size=4, num_workers=1, dataset=dict(pipeline=train_pipeline, **people))
val_dataloader = dict(batch_size=8, num_workers=1, dataset=dict(pipeline=test_pipeline, **people))
test_dataloader = val_dataloader
train_cfg = dict(max_iters=600)
