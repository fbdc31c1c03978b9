# Only the decoder is trained.
fine_tuning = dict(type='FrozenBackbone')
