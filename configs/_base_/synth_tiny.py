# What the tiny recipes on generated people (`sapiens2 synth`) share; the steps end before the targets and the packing.
synth_steps = [
    dict(type='LoadImage'),
    dict(type='LoadFields'),
    dict(type='RandomAreaCrop', area_range=(0.3, 1.0), aspect_range=(0.6, 0.95), prob=0.5),
    dict(type='RandomFlip', prob=0.5),
    dict(type='Resize', size=(256, 192)),
    dict(type='PhotometricDistortion'),
]
synth_pack = [dict(type='PackInputs')]
