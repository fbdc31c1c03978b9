# Classes as polygons or run lengths in COCO's annotation format, categories called as the 29 classes.
_base_ = './seg_folder.py'
data_root = 'data/seg_coco'
train_dataloader = dict(
    dataset=dict(
        _delete_=True,
        type='CocoSegDataset',
        data_root=data_root,
        ann_file='annotations/train.json',
        data_prefix=dict(img_path='train'),
        pipeline=_base_.train_pipeline))
val_dataloader = dict(
    dataset=dict(
        _delete_=True,
        type='CocoSegDataset',
        data_root=data_root,
        ann_file='annotations/val.json',
        data_prefix=dict(img_path='val'),
        test_mode=True,
        pipeline=_base_.test_pipeline))
test_dataloader = val_dataloader
