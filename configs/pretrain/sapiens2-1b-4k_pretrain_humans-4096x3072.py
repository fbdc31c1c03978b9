# The tokenizer makes a token of 64 x 64 pixels, so masks hide windows of that size.
_base_ = './sapiens2-1b_pretrain_humans-512x384.py'
model = dict(backbone=dict(img_size=(4096, 3072), use_tokenizer=True))
train_dataloader = dict(
    batch_size=2,
    dataset=dict(
        pipeline_options=dict(
            MultiCrop=dict(global_crops=dict(size=(4096, 3072)), local_crops=dict(size=(1024, 768))),
            RandomTokenMask=dict(token_size=64))))
