# Only the backbone of sapiens2; no adapter is needed for it.
_base_ = './sapiens2-tiny_sapiens2-head_synth-128x96.py'
model = dict(
    head=dict(
        _delete_=True,
        type='HeatmapHead',
        in_channels=192,
        out_channels=308,
        deconv_out_channels=(96, 64),
        deconv_kernel_sizes=(4, 4),
        loss=dict(type='KeypointMSELoss', use_target_weight=True),
        decoder=_base_.codec))
