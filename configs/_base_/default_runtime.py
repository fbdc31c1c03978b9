default_scope = 'sapiens2'
env_cfg = dict(
    cudnn_benchmark=True,
    mp_cfg=dict(mp_start_method='fork', opencv_num_threads=0),
    dist_cfg=dict(backend='nccl'))
randomness = dict(seed=0)
log_level = 'INFO'
log_processor = dict(type='LogProcessor', by_epoch=False, window_size=50)
visualizer = dict(
    type='HumanVisualizer',
    vis_backends=[dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')])
default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', interval=50, log_metric_by_epoch=False),
    param_scheduler=dict(type='ParamSchedulerHook'),
    checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=1000, max_keep_ckpts=2))
custom_hooks = [
    dict(type='FiniteLossHook'),
    dict(type='UnreadableImagesHook'),
    dict(type='SamplePicturesHook', interval=500),
]
load_from = None
resume = False
