_base_ = ['./sapiens2-1b_normal_folder-1024x768.py', '../_base_/dense_4k.py']
model = dict(
    backbone=_base_.backbone_4k,
    decode_head=dict(upsample_channels=(768, 512, 256, 128, 64), **_base_.full_size_4k))
train_dataloader = dict(dataset=dict(pipeline_options=_base_.train_options_4k))
val_dataloader = dict(dataset=dict(pipeline_options=_base_.test_options_4k))
test_dataloader = val_dataloader
