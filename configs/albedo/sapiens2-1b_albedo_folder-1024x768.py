_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_warmup_poly.py',
    '../_base_/models/albedo.py',
    '../_base_/datasets/albedo_folder.py',
]
train_cfg = dict(max_iters=40_000)
