_base_ = ['./sapiens2-tiny_pointmap_synth-256x192.py', '../_base_/synth_micro.py']
model = dict(
    backbone=_base_.micro_backbone,
    decode_head=dict(
        **_base_.micro_decoder, scale_conv_out_channels=(32,), scale_conv_kernel_sizes=(1,),
        scale_final_layer=(384, 32, 1)))
train_dataloader = dict(**_base_.micro_loader, dataset=dict(pipeline=_base_.micro_steps + _base_.target))
val_dataloader = dict(dataset=dict(pipeline=_base_.micro_test_steps + _base_.target))
test_dataloader = val_dataloader
