_base_ = './_base_/seg_128x96.py'
model = dict(backbone=dict(arch='sapiens2_tiny'))
