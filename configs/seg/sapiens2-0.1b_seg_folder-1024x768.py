_base_ = './sapiens2-0.4b_seg_folder-1024x768.py'
# No task model of this size was released; the recipe is that of 0.4B.
model = dict(backbone=dict(arch='sapiens2_0.1b'))
