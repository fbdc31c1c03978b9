_base_ = './dense_folder.py'
data_root = 'data/pointmap'
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomScale', ratio_range=(0.5, 2.0), prob=0.3),
    dict(type='RandomAreaCrop', area_range=(0.4, 1.0), aspect_range=(0.5, 2.0), attempts=8, prob=0.3),
    dict(type='RandomFlip', prob=0.3),
    dict(type='Resize', size=_base_.image_size),
    dict(type='PhotometricDistortion'),
    dict(type='GeneratePointmap'),
    dict(type='PackInputs'),
]
test_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields', for_eval=True),
    dict(type='Resize', size=_base_.image_size, keep_ratio=True),
    dict(type='GeneratePointmap'),
    dict(type='PackInputs'),
]
train_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='train/images', depth='train/depths', K='train/cameras', mask='train/masks'),
        pipeline=train_pipeline))
val_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='val/images', depth='val/depths', K='val/cameras', mask='val/masks'),
        pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(type='PointmapMetric')
test_evaluator = val_evaluator
