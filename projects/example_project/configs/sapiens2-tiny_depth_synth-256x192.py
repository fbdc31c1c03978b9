_base_ = [
    '../../../configs/_base_/default_runtime.py',
    '../../../configs/_base_/schedules/adamw_tiny.py',
    '../../../configs/_base_/datasets/dense_folder.py',
    '../../../configs/_base_/tiny_dense.py',
    '../../../configs/_base_/synth_tiny.py',
]
custom_imports = dict(imports=['projects.example_project'], allow_failed_imports=False)
data_root = 'data/synth'
model = dict(
    type='DenseEstimator',
    backbone=dict(type='Sapiens2', **_base_.tiny_backbone, **_base_.synth_model['backbone']),
    decode_head=dict(
        type='DepthHead', **_base_.tiny_decoder, loss_decode=[dict(type='AffineInvariantDepthLoss')]))
optim_wrapper = _base_.synth_optim
train_cfg = _base_.synth_train
train_dataloader = dict(
    **_base_.synth_loader,
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='train/images', depth='train/depths', mask='train/masks'),
        pipeline=_base_.synth_steps + _base_.synth_pack))
val_dataloader = dict(
    **_base_.tiny_loader,
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='val/images', depth='val/depths', mask='val/masks'),
        pipeline=_base_.tiny_test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(type='AffineDepthMetric')
test_evaluator = val_evaluator
