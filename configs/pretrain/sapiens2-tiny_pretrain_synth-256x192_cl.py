_base_ = './sapiens2-tiny_pretrain_synth-256x192.py'
model = dict(mae=None)
train_dataloader = dict(dataset=dict(pipeline_options=dict(RandomTokenMask=dict(ratio=0))))
