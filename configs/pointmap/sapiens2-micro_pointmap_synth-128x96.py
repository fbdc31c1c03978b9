_base_ = ['./sapiens2-tiny_pointmap_synth-256x192.py', '../_base_/synth_micro.py']
# Pictures of an eighth of the released size have an eighth of the focal length, in pixels.
focal_length = dict(canonical_focal_length=96.0)
# All pictures are taken by one camera: where a cut-out comes from cannot be told, so there are none.
whole_steps = [step for step in _base_.micro_steps if step['type'] != 'RandomAreaCrop']
micro_target = [dict(type='GeneratePointmap', **focal_length), dict(type='PackInputs')]
model = dict(
    backbone=_base_.micro_backbone,
    decode_head=dict(
        **_base_.micro_decoder, **focal_length, scale_conv_out_channels=(32,), scale_conv_kernel_sizes=(1,),
        scale_final_layer=(384, 32, 1),
        loss_decode=[
            dict(type='L1Loss', loss_weight=2.0),
            dict(type='SiLogLoss'),
            # Without the next two it takes long to learn what is left and what is right.
            dict(type='PointmapIntrinsicsConsistencyLoss', loss_weight=2.0),
            dict(type='PointmapShiftInvariantL1Loss', loss_weight=2.0),
            dict(type='PointmapScaleL1Loss'),
        ]))
optim_wrapper = _base_.micro_optim
train_dataloader = dict(**_base_.micro_loader, dataset=dict(pipeline=whole_steps + micro_target))
val_dataloader = dict(dataset=dict(pipeline=_base_.micro_test_steps + micro_target))
test_dataloader = val_dataloader
