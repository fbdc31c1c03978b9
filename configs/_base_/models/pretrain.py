model = dict(
    type='Sapiens2Pretrainer',
    backbone=dict(
        type='Sapiens2', arch='sapiens2_1b', img_size=(1024, 768), rope_shift=0.1, rope_jitter=1.1, rope_rescale=2.0,
        with_cp=True),
    mae=dict(type='MAEBranch', with_cp=True),
    contrastive=dict(type='ContrastiveBranch'),
    contrastive_weight=dict(type='Linear', start=0.1, end=1.0, warmup=0.1))
