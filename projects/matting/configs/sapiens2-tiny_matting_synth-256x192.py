_base_ = [
    '../../../configs/_base_/default_runtime.py',
    '../../../configs/_base_/schedules/adamw_tiny.py',
    './_base_/matting.py',
    '../../../configs/_base_/tiny_dense.py',
    '../../../configs/_base_/synth_tiny.py',
]
custom_imports = dict(imports=['projects.matting'], allow_failed_imports=False)
data_root = 'data/matting'
# Pictures without people, set behind them in training; prepare_synth.py makes some. '' keeps all backgrounds.
background_root = 'data/matting/backgrounds'
matte_steps = [
    dict(type='EstimateForeground'),
    dict(type='ComposeMatte', background_root=background_root, prob=0.5),
    dict(type='PackMatte'),
]
model = dict(
    type='DenseEstimator',
    backbone=dict(type='Sapiens2', **_base_.tiny_backbone, **_base_.synth_model['backbone']),
    decode_head=dict(**_base_.matting_head, **_base_.tiny_decoder))
optim_wrapper = _base_.synth_optim
train_cfg = _base_.synth_train
train_dataloader = dict(
    **_base_.synth_loader,
    dataset=dict(
        data_root=data_root,
        pipeline=_base_.synth_steps + matte_steps))
val_dataloader = dict(
    **_base_.tiny_loader,
    dataset=dict(
        data_root=data_root,
        pipeline=_base_.tiny_test_pipeline[:-1] + matte_steps[-1:]))
test_dataloader = val_dataloader
