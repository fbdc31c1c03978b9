model = dict(
    type='DenseEstimator',
    backbone=dict(type='Sapiens2', arch='sapiens2_1b', img_size=(1024, 768)),
    decode_head=dict(
        type='NormalHead',
        upsample_channels=(768, 512, 256, 128),
        conv_out_channels=(64, 32, 16),
        loss_decode=[
            dict(type='NormalCosineSimilarityLoss', loss_weight=10.0),
            dict(type='L1Loss', loss_weight=1.0),
            dict(type='GradientMSELoss', loss_weight=10.0),
        ]))
