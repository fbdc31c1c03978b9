# Second stage of LLaVA: projector and language model learn, from dialogues. The encoder stays as it is.
from mmengine.config import read_base

with read_base():
    from ..pretrain.llava_tiny_llama_sapiens2_tiny_128x96_pretrain import *  # noqa: F401, F403

max_iters = 300
model.update(  # noqa: F405
    freeze_llm=False,
    pretrained_pth='work_dirs/llava_tiny_llama_sapiens2_tiny_128x96_pretrain/iter_200.pth')
train_dataloader.dataset.data_path = 'data/llava/train_dialogues.json'  # noqa: F405
param_scheduler[1].end = train_cfg.max_iters = max_iters  # noqa: F405
custom_hooks[1].questions = [  # noqa: F405
    'How many people are in the picture?', 'Where was the picture taken?', 'What does the person wear?']
