_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_tiny.py',
    '../_base_/models/seg.py',
    '../_base_/datasets/seg_folder.py',
    '../_base_/tiny_dense.py',
]
# Segmentation does not keep the aspect of an image.
test_resize = [dict(type='Resize', size=_base_.tiny_size), dict(type='PackInputs')]
model = dict(
    backbone=_base_.tiny_backbone,
    decode_head=dict(deconv_out_channels=(96, 48, 32, 16), conv_out_channels=(16,), conv_kernel_sizes=(1,)))
train_dataloader = dict(**_base_.tiny_loader, dataset=dict(pipeline=_base_.tiny_train_pipeline))
val_dataloader = dict(**_base_.tiny_loader, dataset=dict(pipeline=_base_.tiny_test_pipeline[:-2] + test_resize))
test_dataloader = val_dataloader
