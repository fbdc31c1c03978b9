_base_ = './sapiens2-1b_pretrain_humans-512x384.py'
model = dict(backbone=dict(arch='sapiens2_0.4b', with_cp=False), mae=dict(with_cp=False))
