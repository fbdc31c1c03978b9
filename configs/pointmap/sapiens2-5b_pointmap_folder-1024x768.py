_base_ = './sapiens2-1b_pointmap_folder-1024x768.py'
model = dict(
    backbone=dict(arch='sapiens2_5b'),
    decode_head=dict(upsample_channels=(1536, 768, 768, 768), conv_out_channels=(128, 64, 32)))
optim_wrapper = dict(optimizer=dict(lr=1e-4), paramwise_cfg=dict(layer_decay_rate=0.94))
