_base_ = './dense_folder.py'
data_root = 'data/normal'
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='DownUpSample', scale_range=(0.1, 0.7), prob=0.2),
    dict(type='RandomScale', ratio_range=(0.5, 2.0), prob=0.3),
    dict(type='RandomAreaCrop', area_range=(0.4, 1.0), aspect_range=(0.5, 2.0), attempts=8, prob=0.3),
    dict(type='RandomFlip', prob=0.3),
    dict(type='Resize', size=_base_.image_size),
    dict(type='PhotometricDistortion'),
    dict(type='GaussianBlur', kernel_size=3, sigma_range=(0.1, 2.0), prob=0.3),
    dict(type='GaussianNoise', var_range=(5.0, 20.0), prob=0.3),
    dict(type='Solarize', threshold=128, prob=0.3),
    dict(type='PackInputs'),
]
train_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='train/images', normal='train/normals', mask='train/masks'),
        pipeline=train_pipeline))
val_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='val/images', normal='val/normals', mask='val/masks')))
test_dataloader = val_dataloader
val_evaluator = dict(type='NormalMetric')
test_evaluator = val_evaluator
