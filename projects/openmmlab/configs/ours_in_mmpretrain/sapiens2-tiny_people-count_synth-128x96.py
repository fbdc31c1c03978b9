# Fine-tuning of a Sapiens2 that was pretrained by MAE, as a classifier of MMPretrain: how many people are in a picture.
# People: PYTHONPATH=. python projects/openmmlab/people_count.py data/synth
# Pretraining: sapiens2 train configs/pretrain/sapiens2-tiny_pretrain_synth-256x192_mae.py
_base_ = '../_base_/runtime_of_theirs.py'
default_scope = 'mmpretrain'
custom_imports = dict(imports=['sapiens2.registry'], allow_failed_imports=False)
data_root = 'data/synth/'
lists = 'data/synth/annotations'
checkpoint = 'work_dirs/sapiens2-tiny_pretrain_synth-256x192_mae/iter_2000.pth'
data_preprocessor = dict(
    num_classes=4, mean=_base_.picture['mean'], std=_base_.picture['std'], to_rgb=_base_.picture['bgr_to_rgb'])
model = dict(
    type='ImageClassifier',
    backbone=dict(
        type='sapiens2.Sapiens2',
        arch='sapiens2_tiny',
        img_size=(128, 96),
        out_type='cls_token',
        init_cfg=dict(type='sapiens2.Pretrained', checkpoint=checkpoint)),
    head=dict(type='LinearClsHead', num_classes=4, in_channels=192, topk=(1,)))
# Later blocks learn faster: the constructor is MMPretrain's, the depth of a parameter is told by the backbone.
optim_wrapper = dict(
    optimizer=dict(lr=5e-4),
    constructor='LearningRateDecayOptimWrapperConstructor',
    paramwise_cfg=dict(layer_decay_rate=0.75))
resize = dict(type='Resize', scale=(96, 128))
train_pipeline = [
    dict(type='LoadImageFromFile'),
    resize,
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(type='PackInputs'),
]
test_pipeline = [dict(type='LoadImageFromFile'), resize, dict(type='PackInputs')]
pictures = dict(type='CustomDataset', data_root='', data_prefix=data_root, classes=['1', '2', '3', '4'])
train_dataloader = dict(
    batch_size=8,
    num_workers=1,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(**pictures, ann_file=f'{lists}/people_train.txt', pipeline=train_pipeline))
val_dataloader = dict(
    batch_size=8,
    num_workers=1,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(**pictures, ann_file=f'{lists}/people_val.txt', pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(type='Accuracy', topk=(1,))
test_evaluator = val_evaluator
visualizer = dict(type='UniversalVisualizer', vis_backends=[dict(type='LocalVisBackend')])
