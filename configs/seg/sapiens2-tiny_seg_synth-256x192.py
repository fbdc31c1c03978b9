_base_ = ['./sapiens2-tiny_seg_folder-256x192.py', '../_base_/synth_tiny.py']
data_root = 'data/synth'
train_dataloader = dict(dataset=dict(data_root=data_root, pipeline=_base_.synth_steps + _base_.synth_pack))
val_dataloader = dict(dataset=dict(data_root=data_root))
test_dataloader = val_dataloader
