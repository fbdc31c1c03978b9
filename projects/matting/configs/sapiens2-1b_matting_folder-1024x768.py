# The recipe of normals with the head and the losses of mattes; for data of your own.
_base_ = [
    '../../../configs/_base_/default_runtime.py',
    '../../../configs/_base_/schedules/adamw_warmup_poly.py',
    './_base_/matting.py',
]
custom_imports = dict(imports=['projects.matting'], allow_failed_imports=False)
data_root = 'data/matting'
# Pictures without people, set behind them in training. '' keeps all backgrounds.
background_root = ''
model = dict(
    type='DenseEstimator',
    backbone=dict(type='Sapiens2', arch='sapiens2_1b', img_size=_base_.image_size),
    decode_head=_base_.matting_head)
train_cfg = dict(max_iters=40_000)
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomAreaCrop', area_range=(0.4, 1.0), aspect_range=(0.5, 2.0), attempts=8, prob=0.3),
    dict(type='RandomFlip', prob=0.5),
    dict(type='Resize', size=_base_.image_size),
    dict(type='PhotometricDistortion'),
    dict(type='EstimateForeground'),
    dict(type='ComposeMatte', background_root=background_root, prob=0.5),
    dict(type='PackMatte'),
]
train_dataloader = dict(dataset=dict(data_root=data_root, pipeline=train_pipeline))
val_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        pipeline=_base_.test_pipeline[:-1] + train_pipeline[-1:]))
test_dataloader = val_dataloader
