_base_ = './pretrain_folder.py'
# Tar files as WebDataset writes them, in a folder or at an address. Set data_root.
train_dataloader = dict(
    dataset=dict(type='PretrainShardsDataset', data_root=_base_.data_root, files='*.tar', images=None, window=16))
