# Photographs without annotations: a folder of any depth. Set data_root.
data_root = 'data/pretrain'
# The mild set: light and sharpness change a little, colours stay true. pretrain_dino.py has the strong one.
train_pipeline = [
    dict(type='MultiCrop',
         global_crops=dict(size=(1024, 768), number=2, area=(0.32, 1.0)),  # (H, W)
         local_crops=dict(size=(256, 192), number=8, area=(0.05, 0.32))),
    dict(type='AugmentCrops', steps=[
        dict(type='RandomExposure', stops=0.3, prob=0.5),
        dict(type='GaussianBlur', kernel_size=5, sigma_range=(0.1, 1.0), prob=0.2)]),
    dict(type='RandomTokenMask', ratio=0.75, token_size=16),
    dict(type='PackCrops'),
]
train_dataloader = dict(
    batch_size=16,
    num_workers=8,
    collate_fn=dict(type='collate_crops'),
    sampler=dict(type='ResumableInfiniteSampler', shuffle=True),
    dataset=dict(type='PretrainFolderDataset', data_root=data_root, pipeline=train_pipeline))
