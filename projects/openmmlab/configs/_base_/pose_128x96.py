# Data and schedule that all networks of the comparison share; the decoder is that of the smallest recipe of sapiens2.
_base_ = '../../../../configs/pose/sapiens2-micro_pose_synth-128x96.py'
custom_imports = dict(imports=['projects.openmmlab'], allow_failed_imports=False)
optim_wrapper = dict(optimizer=dict(lr=1e-3), paramwise_cfg=dict(_delete_=True, layer_decay_rate=1.0))
train_cfg = dict(max_iters=1000, val_interval=1000)
