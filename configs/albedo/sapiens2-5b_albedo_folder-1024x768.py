_base_ = './sapiens2-1b_albedo_folder-1024x768.py'
model = dict(
    backbone=dict(arch='sapiens2_5b'),
    decode_head=dict(upsample_channels=(1536, 768, 512, 256)))
optim_wrapper = dict(paramwise_cfg=dict(layer_decay_rate=0.94))
