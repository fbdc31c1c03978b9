_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_tiny.py',
    '../_base_/models/pointmap.py',
    '../_base_/datasets/pointmap_folder.py',
    '../_base_/tiny_dense.py',
]
# The last step packs the sample; point maps are made before it.
target = [dict(type='GeneratePointmap'), dict(type='PackInputs')]
model = dict(
    backbone=_base_.tiny_backbone,
    decode_head=dict(**_base_.tiny_decoder, scale_conv_out_channels=(64, 32, 16), scale_final_layer=(64, 32, 1)))
train_dataloader = dict(**_base_.tiny_loader, dataset=dict(pipeline=_base_.tiny_train_pipeline[:-1] + target))
val_dataloader = dict(**_base_.tiny_loader, dataset=dict(pipeline=_base_.tiny_test_pipeline[:-1] + target))
test_dataloader = val_dataloader
