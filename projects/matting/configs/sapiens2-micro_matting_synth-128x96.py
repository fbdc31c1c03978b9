# Learns in minutes on a CPU.
_base_ = ['./sapiens2-tiny_matting_synth-256x192.py', '../../../configs/_base_/synth_micro.py']
model = dict(backbone=_base_.micro_backbone, decode_head=_base_.micro_decoder)
optim_wrapper = _base_.micro_optim
train_cfg = dict(max_iters=1000, val_interval=250)
train_dataloader = dict(
    **_base_.micro_loader, dataset=dict(pipeline=_base_.micro_steps + _base_.matte_steps))
val_dataloader = dict(dataset=dict(pipeline=_base_.micro_test_steps + _base_.matte_steps[-1:]))
test_dataloader = val_dataloader
