# Heat maps of a quarter of 2K, as those of the 1K models are of a quarter of 1K.
_base_ = './sapiens2-1b_pose_coco_wholebody-1024x768.py'
crop = dict(input_size=(3072, 4096))
model = dict(
    backbone=dict(img_size=(4096, 3072), use_tokenizer=True, with_cp=True),
    decode_head=dict(deconv_out_channels=(1536, 1024, 768), deconv_kernel_sizes=(4,) * 3, with_cp=True))
train_dataloader = dict(dataset=dict(pipeline_options=dict(
    TopdownAffine=crop, GenerateHeatmaps=dict(codec=dict(heatmap_size=(384, 512), **crop)))))
val_dataloader = dict(dataset=dict(pipeline_options=dict(TopdownAffine=crop)))
test_dataloader = val_dataloader
