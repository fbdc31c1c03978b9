_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_tiny.py',
    '../_base_/models/normal.py',
    '../_base_/datasets/normal_folder.py',
    '../_base_/tiny_dense.py',
]
model = dict(backbone=_base_.tiny_backbone, decode_head=_base_.tiny_decoder)
train_dataloader = dict(**_base_.tiny_loader, dataset=dict(pipeline=_base_.tiny_train_pipeline))
val_dataloader = dict(**_base_.tiny_loader, dataset=dict(pipeline=_base_.tiny_test_pipeline))
test_dataloader = val_dataloader
