# COCO-WholeBody and people with all 308 points, drawn two to one; validation is that of COCO-WholeBody. This stands in
# place of coco_wholebody.py, which it builds on, among the bases of a leaf.
_base_ = './coco_wholebody.py'
data_root = 'data/coco'
own_data_root = 'data/people308'
train_dataloader = dict(
    dataset=dict(
        _delete_=True,
        type='MixedDataset',
        weights=(2, 1),
        pipeline=_base_.train_pipeline,
        datasets=[
            dict(
                type='CocoPoseDataset',
                data_root=data_root,
                ann_file='annotations/coco_wholebody_train_v1.0.json',
                data_prefix=dict(img_path='train2017'),
                keypoint_set='coco_wholebody'),
            dict(
                type='CocoPoseDataset',
                data_root=own_data_root,
                ann_file='annotations/train.json',
                data_prefix=dict(img_path='images'),
                keypoint_set='sapiens308'),
        ]))
