_base_ = ['./sapiens2-tiny_pretrain_synth-256x192.py', '../_base_/datasets/pretrain_dino.py']
train_dataloader = dict(dataset=dict(pipeline=_base_.dino_pipeline))
