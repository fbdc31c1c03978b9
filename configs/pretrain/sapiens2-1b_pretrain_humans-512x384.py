_base_ = [
    '../_base_/pretrain_runtime.py',
    '../_base_/schedules/adamw_pretrain.py',
    '../_base_/models/pretrain.py',
    '../_base_/datasets/pretrain_folder.py',
]
model = dict(backbone=dict(img_size=(512, 384)))
train_dataloader = dict(
    batch_size=32,
    dataset=dict(
        pipeline_options=dict(MultiCrop=dict(global_crops=dict(size=(512, 384)), local_crops=dict(size=(192, 144))))))
