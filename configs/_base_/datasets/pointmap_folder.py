data_root = 'data/pointmap'
image_size = (1024, 768)  # (H, W)
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='PhotometricDistortion'),
    dict(type='RandomScale', ratio_range=(0.5, 2.0), prob=0.3),
    dict(type='RandomAreaCrop', area_range=(0.4, 1.0), aspect_range=(0.5, 2.0), attempts=8, prob=0.3),
    dict(type='RandomFlip', prob=0.3),
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
train_dataloader = dict(
    batch_size=1,
    num_workers=4,
    sampler=dict(type='ResumableInfiniteSampler', shuffle=True),
    dataset=dict(
        type='DenseFolderDataset',
        data_root=data_root,
        data_prefix=dict(img_path='train/images', depth='train/depths', K='train/cameras', mask='train/masks'),
        pipeline=train_pipeline))
val_dataloader = dict(
    batch_size=1,
    num_workers=4,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type='DenseFolderDataset',
        data_root=data_root,
        data_prefix=dict(img_path='val/images', depth='val/depths', K='val/cameras', mask='val/masks'),
        test_mode=True,
        pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(type='PointmapMetric')
test_evaluator = val_evaluator
