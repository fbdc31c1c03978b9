_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_warmup_poly.py',
    '../_base_/models/pose.py',
    '../_base_/datasets/pose_mixed.py',
]
