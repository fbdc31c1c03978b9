_base_ = './sapiens2-1b_pretrain_humans-1024x768.py'
# A folder, without .pth, if that run had strategy FSDP2.
load_from = 'work_dirs/sapiens2-0.4b_pretrain_humans-512x384/iter_400000.pth'
model = dict(backbone=dict(arch='sapiens2_0.4b', with_cp=False), mae=dict(with_cp=False))
