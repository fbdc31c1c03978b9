# Low-rank adapters in the backbone and the decoder are trained.
fine_tuning = dict(type='LoRA', rank=16)
