_base_ = ['./sapiens2-1b_pointmap_folder-1024x768.py', '../_base_/dense_4k.py']
# Targets of twice the released size have twice the focal length, in pixels.
focal_length = dict(canonical_focal_length=1536.0)
model = dict(
    backbone=_base_.backbone_4k,
    decode_head=dict(upsample_channels=(1536, 768, 512, 256, 64), **focal_length, **_base_.full_size_4k))
train_dataloader = dict(dataset=dict(pipeline_options=dict(GeneratePointmap=focal_length, **_base_.train_options_4k)))
val_dataloader = dict(dataset=dict(pipeline_options=dict(GeneratePointmap=focal_length, **_base_.test_options_4k)))
test_dataloader = val_dataloader
