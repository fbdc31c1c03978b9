# What the 4K recipes of the dense tasks share. A token stands for 64 x 64 pixels, and five doublings turn it into
# 32 x 32: predictions and targets have half the height and width of the picture (2K).
image_size_4k = (4096, 3072)  # (H, W)
backbone_4k = dict(img_size=image_size_4k, use_tokenizer=True, with_cp=True)
# At full size fewer channels than at 1K, where there are four times as few pixels.
full_size_4k = dict(conv_out_channels=(32, 16), conv_kernel_sizes=(3, 3), with_cp=True)
train_options_4k = dict(Resize=dict(size=image_size_4k, target_stride=2))
test_options_4k = dict(Resize=dict(size=image_size_4k))
