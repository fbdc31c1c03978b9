_base_ = './pretrain_folder.py'
# Parquet files with a column of image contents. Set data_root.
train_dataloader = dict(
    dataset=dict(
        type='PretrainParquetDataset', data_root=_base_.data_root, files='**/*.parquet', column='image', window=4))
