model = dict(
    type='DenseEstimator',
    backbone=dict(type='Sapiens2', arch='sapiens2_1b', img_size=(1024, 768)),
    decode_head=dict(
        type='PointmapHead',
        upsample_channels=(1536, 768, 512, 256),
        conv_out_channels=(64, 32, 16),
        scale_conv_out_channels=(1536, 512, 128),
        scale_final_layer=(6144, 512, 128, 1),
        loss_decode=[
            dict(type='L1Loss', loss_weight=2.0),
            dict(type='MultiscaleL1Loss', loss_weight=1.0),
            dict(type='SiLogLoss', loss_weight=1.0),
            dict(type='PointmapIntrinsicsConsistencyLoss', loss_weight=1.0),
            dict(type='PointmapShiftInvariantL1Loss', loss_weight=1.0),
            dict(type='PointmapNormalLoss', loss_weight=2.0),
            dict(type='PointmapScaleL1Loss', loss_weight=4.0),
        ]))
