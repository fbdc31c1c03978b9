_base_ = ['./sapiens2-tiny_pose_synth-256x192.py', '../_base_/synth_micro.py']
codec = dict(type='UDPHeatmap', input_size=(96, 128), heatmap_size=(24, 32), sigma=1.5)
cut = dict(type='TopdownAffine', input_size=codec['input_size'])
start = [dict(type='LoadImage'), dict(type='GetBBoxCenterScale')]
train_pipeline = [
    *start,
    dict(type='RandomFlip', prob=0.5),
    dict(type='RandomBBoxTransform', scale_factor=(0.8, 1.2), rotate_factor=30.0),
    cut,
    dict(type='PhotometricDistortion', prob=0.5),
    dict(type='GenerateHeatmaps', codec=codec),
    dict(type='PackInputs'),
]
model = dict(
    backbone=_base_.micro_backbone,
    decode_head=dict(deconv_out_channels=(96, 64), conv_out_channels=(64,), conv_kernel_sizes=(1,)))
optim_wrapper = dict(_base_.micro_optim, optimizer=dict(lr=1e-3))
train_dataloader = dict(**_base_.micro_loader, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=[*start, cut, dict(type='PackInputs')]))
test_dataloader = val_dataloader
