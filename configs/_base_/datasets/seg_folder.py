_base_ = './dense_folder.py'
data_root = 'data/seg'
background_root = ''  # folder of pictures to put people before; empty keeps their own background
train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomBackground', background_root=background_root, skip_key='in_the_wild', prob=0.8),
    dict(type='RandomResize', size=_base_.image_size, ratio_range=(0.4, 2.0), keep_ratio=True),
    dict(type='RandomCrop', size=_base_.image_size, cat_max_ratio=0.75, prob=0.3),
    dict(type='GaussianBlur', kernel_size=3, sigma_range=(0.1, 2.0), prob=0.3),
    dict(type='GaussianNoise', var_range=(5.0, 20.0), prob=0.3),
    dict(type='RandomRotate', degree=60, seg_pad_val=0, prob=0.5),
    dict(type='RandomFlip', prob=0.5),
    dict(type='Resize', size=_base_.image_size),
    dict(type='PhotometricDistortion'),
    dict(type='PackInputs'),
]
test_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields', for_eval=True),
    dict(type='Resize', size=_base_.image_size),
    dict(type='PackInputs'),
]
train_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='train/images', sem_seg='train/labels'),
        pipeline=train_pipeline))
val_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='val/images', sem_seg='val/labels'),
        pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(type='SegMetric')
test_evaluator = val_evaluator
