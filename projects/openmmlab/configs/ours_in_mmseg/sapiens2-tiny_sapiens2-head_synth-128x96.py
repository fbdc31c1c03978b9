# Backbone and decoder of sapiens2; segmentor, data, loss and metric of MMSegmentation.
_base_ = '../_base_/runtime_of_theirs.py'
default_scope = 'mmseg'
custom_imports = dict(imports=['projects.openmmlab.in_mmseg'], allow_failed_imports=False)
data_root = 'data/synth/'
size = (128, 96)  # (H, W)
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(type='SegDataPreProcessor', size=size, pad_val=0, seg_pad_val=255, **_base_.picture),
    backbone=dict(type='sapiens2.Sapiens2', arch='sapiens2_tiny', img_size=size, init_cfg=_base_.init_cfg),
    decode_head=dict(
        type='Sapiens2SegHead',
        in_channels=192,
        network=dict(deconv_out_channels=(64, 48, 32, 24), conv_out_channels=(16,), conv_kernel_sizes=(1,)),
        loss_decode=dict(type='CrossEntropyLoss', loss_weight=1.0)),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'))
resize = dict(type='Resize', scale=size[::-1], keep_ratio=False)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations'),
    resize,
    dict(type='PhotoMetricDistortion'),
    dict(type='PackSegInputs'),
]
# Labels are loaded after the picture is resized: they are compared at the size of the source image.
test_pipeline = [
    dict(type='LoadImageFromFile'),
    resize,
    dict(type='LoadAnnotations'),
    dict(type='PackSegInputs'),
]
pictures = dict(type='Sapiens29Dataset', data_root=data_root)
train_dataloader = dict(
    batch_size=8,
    num_workers=1,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        **pictures, data_prefix=dict(img_path='train/images', seg_map_path='train/labels'), pipeline=train_pipeline))
val_dataloader = dict(
    batch_size=1,
    num_workers=1,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        **pictures, data_prefix=dict(img_path='val/images', seg_map_path='val/labels'), pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(type='IoUMetric', iou_metrics=['mIoU'])
test_evaluator = val_evaluator
visualizer = dict(type='SegLocalVisualizer', vis_backends=[dict(type='LocalVisBackend')])
