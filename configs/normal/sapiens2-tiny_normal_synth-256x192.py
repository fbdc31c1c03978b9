_base_ = ['./sapiens2-tiny_normal_folder-256x192.py', '../_base_/synth_tiny.py']
data_root = 'data/synth'
model = _base_.synth_model
optim_wrapper = _base_.synth_optim
train_cfg = _base_.synth_train
train_dataloader = dict(
    **_base_.synth_loader, dataset=dict(data_root=data_root, pipeline=_base_.synth_steps + _base_.synth_pack))
val_dataloader = dict(dataset=dict(data_root=data_root))
test_dataloader = val_dataloader
