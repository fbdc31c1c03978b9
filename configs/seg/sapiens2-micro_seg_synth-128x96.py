_base_ = ['./sapiens2-tiny_seg_synth-256x192.py', '../_base_/synth_micro.py']
# Weights of the classes slow a short training down.
model = dict(
    backbone=_base_.micro_backbone,
    decode_head=dict(
        deconv_out_channels=(64, 48, 32, 24), loss_decode=[dict(type='CrossEntropyLoss'), dict(type='DiceLoss')]))
train_dataloader = dict(**_base_.micro_loader, dataset=dict(pipeline=_base_.micro_steps + _base_.micro_pack))
val_dataloader = dict(dataset=dict(pipeline=_base_.micro_test_steps + _base_.micro_pack))
test_dataloader = val_dataloader
