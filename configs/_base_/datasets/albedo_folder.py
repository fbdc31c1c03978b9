_base_ = './dense_folder.py'
data_root = 'data/albedo'
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomScale', ratio_range=(0.5, 2.0), prob=0.3),
    dict(type='RandomAreaCrop', area_range=(0.4, 1.0), aspect_range=(0.5, 2.0), attempts=8, prob=0.3),
    dict(type='RandomFlip', prob=0.3),
    dict(type='Resize', size=_base_.image_size),
    dict(type='GaussianNoise', var_range=(5.0, 20.0), prob=0.2),
    dict(type='PackInputs'),
]
train_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='train/images', albedo='train/albedos', mask='train/masks'),
        pipeline=train_pipeline))
val_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='val/images', albedo='val/albedos', mask='val/masks')))
test_dataloader = val_dataloader
val_evaluator = dict(type='AlbedoMetric')
test_evaluator = val_evaluator
