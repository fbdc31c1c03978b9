_base_ = ['./sapiens2-tiny_pose_coco_wholebody-256x192.py', '../_base_/synth_tiny.py']
data_root = 'data/synth'
train_pipeline = [
    *_base_.train_pipeline[:2],
    dict(type='RandomFlip', prob=0.5),
    dict(type='RandomBBoxTransform', scale_factor=(0.8, 1.2), rotate_factor=40.0),
    _base_.train_pipeline[2],
    dict(type='PhotometricDistortion', prob=0.8),
    *_base_.train_pipeline[3:],
]
people = dict(data_root=data_root, keypoint_set='sapiens308')
model = _base_.synth_model
optim_wrapper = _base_.synth_optim
train_cfg = _base_.synth_train
train_dataloader = dict(
    **_base_.synth_loader, dataset=dict(**people, ann_file='annotations/keypoints_train.json', pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(**people, ann_file='annotations/keypoints_val.json'))
test_dataloader = val_dataloader
val_evaluator = dict(mode='sapiens308')
test_evaluator = val_evaluator
