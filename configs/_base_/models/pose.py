model = dict(
    type='TopdownPoseEstimator',
    backbone=dict(type='Sapiens2', arch='sapiens2_1b', img_size=(1024, 768)),
    decode_head=dict(
        type='PoseHeatmapHead',
        deconv_out_channels=(1536, 1024),
        conv_out_channels=(768, 512, 256),
        loss_decode=dict(type='KeypointMSELoss', loss_weight=10.0)),
    test_cfg=dict(flip_test=True))
