# What folders of images with ground truth for each pixel have in common; each task adds its folders and pipelines.
image_size = (1024, 768)  # (H, W)
test_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadFields', for_eval=True),
    dict(type='Resize', size=image_size, keep_ratio=True),
    dict(type='PackInputs'),
]
train_dataloader = dict(
    batch_size=1,
    num_workers=4,
    sampler=dict(type='ResumableInfiniteSampler', shuffle=True),
    dataset=dict(type='DenseFolderDataset'))
val_dataloader = dict(
    batch_size=1,
    num_workers=4,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(type='DenseFolderDataset', test_mode=True, pipeline=test_pipeline))
test_dataloader = val_dataloader
