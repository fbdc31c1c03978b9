_base_ = './_base_/pose_128x96.py'
model = dict(backbone=dict(arch='sapiens2_tiny'))
