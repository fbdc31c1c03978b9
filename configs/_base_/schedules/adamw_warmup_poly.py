# One iteration is one update of the weights, whatever optim_wrapper.accumulative_counts is.
train_cfg = dict(type='UpdateTrainLoop', max_iters=20_000, val_interval=1000)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')

optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='AdamW', lr=5e-4, betas=(0.9, 0.999), weight_decay=0.1, fused=True),
    constructor='LayerDecayOptimWrapperConstructor',
    paramwise_cfg=dict(layer_decay_rate=0.9),
    clip_grad=dict(max_norm=4.0))
# Iteration i (from 0) of the warm-up has 0.001 + 0.999 * i / 500 of the full rate, iteration 500 the full rate, and the
# decay would reach zero at iteration max_iters, one after the last, where a schedule without `end` ends.
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-3, begin=0, end=501, by_epoch=False),
    dict(type='PolyLR', eta_min=0.0, power=1.0, begin=500, by_epoch=False),
]
