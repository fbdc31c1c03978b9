_base_ = [
    '../_base_/pretrain_runtime.py',
    '../_base_/schedules/adamw_pretrain.py',
    '../_base_/models/pretrain.py',
    '../_base_/datasets/pretrain_folder.py',
]
data_root = 'data/synth/train/images'
# For a short training on few pictures: attention counts from the first update on, instead of growing from a
# ten-thousandth of its size, prototypes are few, assignments sharp, and the teacher follows quickly.
model = dict(
    backbone=dict(
        arch='sapiens2_tiny', img_size=(256, 192), with_cp=False,
        init_cfg=dict(type='Constant', layer='LayerScale', val=1.0)),
    mae=dict(channels=192, depth=2, num_heads=6, with_cp=False),
    contrastive=dict(
        head=dict(hidden=512, bottleneck=128, prototypes=128), teacher_temp=0.02,
        momentum=dict(type='Cosine', start=0.97, end=1.0)))
train_dataloader = dict(
    batch_size=16,
    num_workers=1,
    dataset=dict(
        data_root=data_root,
        pipeline_options=dict(
            MultiCrop=dict(global_crops=dict(size=(256, 192)), local_crops=dict(number=4, size=(96, 64))))))
train_cfg = dict(max_iters=2000)
auto_scale_lr = dict(enable=False)
optim_wrapper = dict(optimizer=dict(lr=5e-4), paramwise_cfg=dict(layer_decay_rate=1.0))
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-3, begin=0, end=101, by_epoch=False),
    dict(type='CosineAnnealingLR', eta_min_ratio=1e-3, begin=100, by_epoch=False),
]
default_hooks = dict(checkpoint=dict(interval=500))
