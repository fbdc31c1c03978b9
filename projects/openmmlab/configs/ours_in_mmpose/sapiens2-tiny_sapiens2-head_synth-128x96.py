# Backbone and decoder of sapiens2; estimator, data, targets, loss, decoding and metric of MMPose.
_base_ = '../_base_/runtime_of_theirs.py'
default_scope = 'mmpose'
custom_imports = dict(imports=['projects.openmmlab.in_mmpose'], allow_failed_imports=False)
data_root = 'data/synth/'
codec = dict(type='UDPHeatmap', input_size=(96, 128), heatmap_size=(24, 32), sigma=1.5)
model = dict(
    type='TopdownPoseEstimator',
    data_preprocessor=dict(type='PoseDataPreprocessor', **_base_.picture),
    backbone=dict(type='sapiens2.Sapiens2', arch='sapiens2_tiny', img_size=(128, 96), init_cfg=_base_.init_cfg),
    head=dict(
        type='Sapiens2PoseHead',
        in_channels=192,
        deconv_out_channels=(96, 64),
        conv_out_channels=(64,),
        conv_kernel_sizes=(1,),
        decoder=codec),
    test_cfg=dict(flip_test=False))
start = [dict(type='LoadImage'), dict(type='GetBBoxCenterScale')]
cut = dict(type='TopdownAffine', input_size=codec['input_size'], use_udp=True)
train_pipeline = [
    *start,
    dict(type='RandomFlip', direction='horizontal'),
    dict(type='RandomBBoxTransform', scale_factor=(0.8, 1.2), rotate_factor=30.0),
    cut,
    dict(type='GenerateTarget', encoder=codec),
    dict(type='PackPoseInputs'),
]
people = dict(type='Sapiens308Dataset', data_root=data_root, data_prefix=dict(img=''))
train_dataloader = dict(
    batch_size=8,
    num_workers=1,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(**people, ann_file='annotations/keypoints_train.json', pipeline=train_pipeline))
val_dataloader = dict(
    batch_size=8,
    num_workers=1,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        **people,
        ann_file='annotations/keypoints_val.json',
        test_mode=True,
        pipeline=[*start, cut, dict(type='PackPoseInputs')]))
test_dataloader = val_dataloader
val_evaluator = dict(type='PCKAccuracy', thr=0.05, norm_item='bbox')
test_evaluator = val_evaluator
visualizer = dict(type='PoseLocalVisualizer', vis_backends=[dict(type='LocalVisBackend')])
