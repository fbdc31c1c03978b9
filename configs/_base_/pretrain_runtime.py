# Hooks of pretraining in place of those of the tasks.
_base_ = './default_runtime.py'
default_hooks = dict(
    checkpoint=dict(interval=5000),
    logger=dict(file_only=['weight_decay', 'grad_norm_', 'teacher_entropy', 'prototype']))
custom_hooks = [
    dict(type='FiniteLossHook'),
    dict(type='UnreadableImagesHook'),
    dict(type='PretrainingHook'),
    dict(type='WeightDecayHook', schedule=dict(type='Cosine', end=0.2)),
    dict(type='GradientNormHook'),
    dict(type='CollapseHook'),
    dict(type='ReconstructionPicturesHook', interval=1000),
]
