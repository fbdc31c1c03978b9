# Goes on from the run at 512x384, with all that it has trained.
# With strategy FSDP2 that run leaves a folder: load_from = '.../iter_400000', without .pth.
_base_ = [
    '../_base_/pretrain_runtime.py',
    '../_base_/schedules/adamw_pretrain.py',
    '../_base_/models/pretrain.py',
    '../_base_/datasets/pretrain_folder.py',
]
load_from = 'work_dirs/sapiens2-1b_pretrain_humans-512x384/iter_400000.pth'
model = dict(
    contrastive=dict(
        teacher_temp=0.07, momentum=dict(type='Cosine', start=0.999, end=1.0), freeze_prototypes=0),
    contrastive_weight=1.0)
train_dataloader = dict(batch_size=8)
train_cfg = dict(max_iters=100_000)
optim_wrapper = dict(optimizer=dict(lr=5e-5, weight_decay=0.2))
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-3, begin=0, end=2001, by_epoch=False),
    dict(type='CosineAnnealingLR', eta_min_ratio=1e-3, begin=2000, by_epoch=False),
]
