_base_ = './sapiens2-tiny_pretrain_synth-256x192.py'
model = dict(contrastive=None)
train_dataloader = dict(dataset=dict(pipeline_options=dict(MultiCrop=dict(local_crops=dict(number=0)))))
