# The backbone of SegFormer-b0, a feature pyramid as the neck, and the last two doublings of the decoder of sapiens2.
_base_ = './segformer-b0_seg_synth-128x96.py'
model = dict(
    backbone=dict(
        neck=dict(type='mmseg.FPN', in_channels=[32, 64, 160, 256], out_channels=64, num_outs=4),
        index=0),
    decode_head=dict(
        _delete_=True,
        type='SegHead',
        deconv_out_channels=(32, 24),
        deconv_kernel_sizes=(4, 4),
        conv_out_channels=(16,),
        conv_kernel_sizes=(1,),
        loss_decode=_base_.model.decode_head.loss_decode))
