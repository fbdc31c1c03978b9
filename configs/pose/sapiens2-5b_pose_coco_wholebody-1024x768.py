_base_ = './sapiens2-1b_pose_coco_wholebody-1024x768.py'
model = dict(
    backbone=dict(arch='sapiens2_5b'),
    decode_head=dict(deconv_out_channels=(1024, 768), conv_out_channels=(512, 512, 256)))
optim_wrapper = dict(optimizer=dict(lr=1e-4), paramwise_cfg=dict(layer_decay_rate=0.94))
