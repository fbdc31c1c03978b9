_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_warmup_poly.py',
    '../_base_/models/pointmap.py',
    '../_base_/datasets/pointmap_folder.py',
]
train_cfg = dict(max_iters=40_000)
