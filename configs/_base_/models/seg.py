# One weight a class, small for the background, large for the small parts.
class_weight = [
    0.1, 10, 10, 3, 2, 4, 4, 2, 2, 6, 10, 3, 3, 1, 4, 4, 2, 2, 6, 10, 3, 3, 1, 1, 10, 10, 10, 10, 10]
model = dict(
    type='DenseEstimator',
    backbone=dict(type='Sapiens2', arch='sapiens2_1b', img_size=(1024, 768)),
    decode_head=dict(
        type='SegHead',
        deconv_out_channels=(512, 256, 128, 64),
        conv_out_channels=(64, 64),
        loss_decode=[
            dict(type='CrossEntropyLoss', class_weight=class_weight),
            dict(type='DiceLoss'),
        ]))
