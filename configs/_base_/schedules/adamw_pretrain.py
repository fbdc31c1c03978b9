# One iteration is one update of the weights, whatever optim_wrapper.accumulative_counts is.
train_cfg = dict(type='UpdateTrainLoop', max_iters=400_000)
# The learning rate is that of 256 samples an update (MAE, arXiv 2111.06377) and grows with batch size and processes.
# With accumulative_counts=n, set base_batch_size to 256 / n.
auto_scale_lr = dict(enable=True, base_batch_size=256)
optim_wrapper = dict(
    type='BFloat16OptimWrapper',
    optimizer=dict(type='AdamW', lr=1.5e-4, betas=(0.9, 0.95), weight_decay=0.04, fused=True),
    constructor='LayerDecayOptimWrapperConstructor',
    paramwise_cfg=dict(layer_decay_rate=0.95),
    clip_grad=dict(max_norm=3.0))
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-3, begin=0, end=10_001, by_epoch=False),
    dict(type='CosineAnnealingLR', eta_min_ratio=1e-3, begin=10_000, by_epoch=False),
]
