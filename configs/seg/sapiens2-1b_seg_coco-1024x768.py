# People against the rest, from the outlines of COCO as `sapiens2 data convert coco` leaves them.
_base_ = [
    '../_base_/default_runtime.py',
    '../_base_/schedules/adamw_warmup_poly.py',
    '../_base_/models/seg.py',
    '../_base_/datasets/seg_coco.py',
]
people = dict(classes=['Background', 'person'], categories=['person'])
train_dataloader = dict(dataset=dict(
    **people, ann_file='annotations/person_keypoints_train2017.json', data_prefix=dict(img_path='train2017')))
val_dataloader = dict(dataset=dict(
    **people, ann_file='annotations/person_keypoints_val2017.json', data_prefix=dict(img_path='val2017')))
test_dataloader = val_dataloader
model = dict(decode_head=dict(num_classes=2, loss_decode=[dict(type='CrossEntropyLoss'), dict(type='DiceLoss')]))
