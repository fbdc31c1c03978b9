_base_ = ['./sapiens2-tiny_normal_synth-256x192.py', '../_base_/synth_micro.py']
model = dict(
    backbone=_base_.micro_backbone,
    decode_head=dict(
        **_base_.micro_decoder, loss_decode=[dict(type='NormalCosineSimilarityLoss'), dict(type='L1Loss')]))
optim_wrapper = _base_.micro_optim
train_dataloader = dict(**_base_.micro_loader, dataset=dict(pipeline=_base_.micro_steps + _base_.micro_pack))
val_dataloader = dict(dataset=dict(pipeline=_base_.micro_test_steps + _base_.micro_pack))
test_dataloader = val_dataloader
