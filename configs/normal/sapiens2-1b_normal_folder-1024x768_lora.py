_base_ = ['./sapiens2-1b_normal_folder-1024x768.py', '../_base_/strategies/lora.py']
# Adapters start from nothing in every block alike, so none of them is slowed down.
model = dict(backbone=dict(with_cp=True))
optim_wrapper = dict(optimizer=dict(lr=2e-4), paramwise_cfg=dict(layer_decay_rate=1.0))
