_base_ = ['./sapiens2-tiny_seg_synth-256x192.py', '../_base_/synth_micro.py']
# The roots of the weights of the full recipe: a short training needs calmer ones.
class_weight = [
    0.3, 3, 3, 1.7, 1.4, 2, 2, 1.4, 1.4, 2.4, 3, 1.7, 1.7, 1, 2, 2, 1.4, 1.4, 2.4, 3, 1.7, 1.7, 1, 1, 3, 3, 3, 3, 3]
model = dict(
    backbone=_base_.micro_backbone,
    decode_head=dict(
        deconv_out_channels=(64, 48, 32, 24), loss_decode=[dict(type='CrossEntropyLoss', class_weight=class_weight)]))
optim_wrapper = _base_.micro_optim
train_dataloader = dict(**_base_.micro_loader, dataset=dict(pipeline=_base_.micro_steps + _base_.micro_pack))
val_dataloader = dict(dataset=dict(pipeline=_base_.micro_test_steps + _base_.micro_pack))
test_dataloader = val_dataloader
