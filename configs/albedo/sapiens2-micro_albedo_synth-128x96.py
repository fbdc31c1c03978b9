_base_ = ['./sapiens2-tiny_albedo_synth-256x192.py', '../_base_/synth_micro.py']
model = dict(
    backbone=_base_.micro_backbone,
    decode_head=dict(**_base_.micro_decoder, loss_decode=[dict(type='L1Loss')]))
optim_wrapper = dict(_base_.micro_optim, optimizer=dict(lr=1e-3, betas=(0.9, 0.95)))
train_dataloader = dict(**_base_.micro_loader, dataset=dict(pipeline=_base_.micro_steps[:-1] + _base_.micro_pack))
val_dataloader = dict(dataset=dict(pipeline=_base_.micro_test_steps + _base_.micro_pack))
test_dataloader = val_dataloader
