# What networks for mattes share: the losses, the folders, and how they are measured.
_base_ = '../../../../configs/_base_/datasets/dense_folder.py'
matting_head = dict(
    type='MattingHead',
    loss_decode=[
        dict(type='L1Loss'),
        dict(type='LaplacianPyramidLoss', levels=5),
        dict(type='ForegroundL1Loss', loss_weight=0.1),
    ])
train_dataloader = dict(dataset=dict(data_prefix=dict(img_path='train/images', alpha='train/alphas')))
val_dataloader = dict(dataset=dict(data_prefix=dict(img_path='val/images', alpha='val/alphas')))
test_dataloader = val_dataloader
val_evaluator = dict(type='MattingMetric')
test_evaluator = val_evaluator
