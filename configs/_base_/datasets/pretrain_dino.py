# The colours, blurs and inversions of DINO (arXiv 2104.14294) in place of the mild set. Beside one of
# pretrain_folder.py, pretrain_shards.py and pretrain_parquet.py, a leaf takes it by
#     train_dataloader = dict(dataset=dict(pipeline=_base_.dino_pipeline))
dino_pipeline = [
    dict(type='MultiCrop',
         global_crops=dict(size=(1024, 768), number=2, area=(0.32, 1.0)),  # (H, W)
         local_crops=dict(size=(256, 192), number=8, area=(0.05, 0.32))),
    dict(type='AugmentCrops', steps=[
        dict(type='ColourJitter', brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1, prob=0.8),
        dict(type='RandomGrey', prob=0.2)]),
    dict(type='AugmentCrops', global_crops=[0], local_crops=False, steps=[
        dict(type='GaussianBlur', kernel_size=9, sigma_range=(0.1, 2.0))]),
    dict(type='AugmentCrops', global_crops=[1], local_crops=False, steps=[
        dict(type='GaussianBlur', kernel_size=9, sigma_range=(0.1, 2.0), prob=0.1),
        dict(type='Solarize', threshold=128, prob=0.2)]),
    dict(type='AugmentCrops', global_crops=False, steps=[
        dict(type='GaussianBlur', kernel_size=9, sigma_range=(0.1, 2.0), prob=0.5)]),
    dict(type='RandomTokenMask', ratio=0.75, token_size=16),
    dict(type='PackCrops'),
]
