data_root = 'data/coco'
codec = dict(type='UDPHeatmap', input_size=(768, 1024), heatmap_size=(192, 256), sigma=6)
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='RandomHalfBody'),
    dict(type='RandomBBoxTransform'),
    dict(type='TopdownAffine', input_size=codec['input_size']),
    dict(type='PhotometricDistortion', prob=0.8),
    dict(type='BoxBlur', prob=0.1),
    dict(type='MedianBlur', prob=0.1),
    dict(type='CoarseDropout', holes=(1, 1), height_range=(0.2, 0.4), width_range=(0.2, 0.4), prob=1.0),
    dict(type='GenerateHeatmaps', codec=codec),
    dict(type='PackInputs'),
]
test_pipeline = [
    dict(type='LoadImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='TopdownAffine', input_size=codec['input_size']),
    dict(type='PackInputs'),
]
train_dataloader = dict(
    batch_size=1,
    num_workers=4,
    sampler=dict(type='ResumableInfiniteSampler', shuffle=True),
    dataset=dict(
        type='CocoPoseDataset',
        data_root=data_root,
        ann_file='annotations/coco_wholebody_train_v1.0.json',
        data_prefix=dict(img_path='train2017'),
        keypoint_set='coco_wholebody',
        pipeline=train_pipeline))
val_dataloader = dict(
    batch_size=1,
    num_workers=4,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type='CocoPoseDataset',
        data_root=data_root,
        ann_file='annotations/coco_wholebody_val_v1.0.json',
        data_prefix=dict(img_path='val2017'),
        keypoint_set='coco_wholebody',
        test_mode=True,
        pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(type='CocoPoseMetric')
test_evaluator = val_evaluator
