# Runner settings of MMPose, MMSegmentation and MMPretrain, for short trainings from nothing.
# Attention of Sapiens2 counts from the first update on, instead of growing from a ten-thousandth of its size.
init_cfg = [dict(type='TruncNormal', layer='Linear', std=0.08), dict(type='Constant', layer='LayerScale', val=1.0)]
picture = dict(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], bgr_to_rgb=True)
train_cfg = dict(by_epoch=False, max_iters=1000, val_interval=1000)
val_cfg = dict()
test_cfg = dict()
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='AdamW', lr=1e-3, weight_decay=0.1),
    clip_grad=dict(max_norm=4.0))
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-3, begin=0, end=50, by_epoch=False),
    dict(type='PolyLR', eta_min=0.0, power=1.0, begin=50, by_epoch=False),
]
default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', interval=10, log_metric_by_epoch=False),
    param_scheduler=dict(type='ParamSchedulerHook'),
    checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=1000),
    sampler_seed=dict(type='DistSamplerSeedHook'))
env_cfg = dict(mp_cfg=dict(mp_start_method='fork', opencv_num_threads=0), dist_cfg=dict(backend='nccl'))
log_processor = dict(by_epoch=False)
randomness = dict(seed=0)
