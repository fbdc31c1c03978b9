_base_ = ['./sapiens2-1b_seg_folder-1024x768.py', '../_base_/dense_4k.py']
image = dict(size=_base_.image_size_4k)
model = dict(
    backbone=_base_.backbone_4k,
    decode_head=dict(
        deconv_out_channels=(512, 256, 128, 64, 32), deconv_kernel_sizes=(4,) * 5, conv_out_channels=(32, 32),
        with_cp=True))
train_dataloader = dict(dataset=dict(
    pipeline_options=dict(RandomResize=image, RandomCrop=image, **_base_.train_options_4k)))
val_dataloader = dict(dataset=dict(pipeline_options=_base_.test_options_4k))
test_dataloader = val_dataloader
