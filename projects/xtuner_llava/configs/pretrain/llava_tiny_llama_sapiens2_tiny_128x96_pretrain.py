# First stage of LLaVA: the projector alone learns, from captions. A random LLaMA and the packaged tiny backbone.
import torch
from mmengine.dataset import DefaultSampler
from mmengine.hooks import CheckpointHook, DistSamplerSeedHook, IterTimerHook, LoggerHook, ParamSchedulerHook
from mmengine.optim import CosineAnnealingLR, LinearLR, OptimWrapper
from torch.optim import AdamW
from transformers import AutoModelForCausalLM, AutoTokenizer
from xtuner.dataset.collate_fns import default_collate_fn
from xtuner.engine.hooks import DatasetInfoHook
from xtuner.engine.runner import TrainLoop
from xtuner.utils import PROMPT_TEMPLATE

from projects.xtuner_llava.conversation_dataset import ConversationDataset
from projects.xtuner_llava.dialogue_hook import DialogueHook
from projects.xtuner_llava.image_processor import Sapiens2ImageProcessor
from projects.xtuner_llava.llava_model import Sapiens2LLaVAModel
from projects.xtuner_llava.vision_model import Sapiens2VisionModel

# Models
llm_name_or_path = 'data/tiny_llama'
visual_encoder_checkpoint = 'sapiens2/weights/sapiens2_tiny_seg.safetensors'
img_size = (128, 96)  # H, W; each picture becomes H / 16 * W / 16 tokens of the language model

# Data
data_root = 'data/llava/'
image_folder = 'data/synth'
prompt_template = PROMPT_TEMPLATE.vicuna
max_length = 512  # tokens of text; longer conversations are cut
questions = ['Describe the picture.']
pictures = ['data/synth/val/images/000001.jpg']

# Schedule
batch_size = 8
max_iters = 200
warmup_iters = 10
lr = 2e-3
save_steps = 100

tokenizer = dict(
    type=AutoTokenizer.from_pretrained, pretrained_model_name_or_path=llm_name_or_path, padding_side='right')
image_processor = dict(type=Sapiens2ImageProcessor, size=img_size)
model = dict(
    type=Sapiens2LLaVAModel,
    freeze_llm=True,
    freeze_visual_encoder=True,
    # The last block's output is the only one that is normalised, and what Sapiens2's own heads read.
    visual_select_layer=-1,
    use_activation_checkpointing=False,
    llm=dict(
        type=AutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path=llm_name_or_path,
        torch_dtype=torch.float32),
    visual_encoder=dict(
        type=Sapiens2VisionModel.from_checkpoint, checkpoint=visual_encoder_checkpoint, img_size=img_size))

train_dataloader = dict(
    batch_size=batch_size,
    num_workers=1,
    dataset=dict(
        type=ConversationDataset,
        data_path=data_root + 'train_captions.json',
        image_folder=image_folder,
        tokenizer=tokenizer,
        image_processor=image_processor,
        template=prompt_template,
        max_length=max_length),
    sampler=dict(type=DefaultSampler, shuffle=True),
    collate_fn=dict(type=default_collate_fn))

optim_wrapper = dict(
    type=OptimWrapper,
    optimizer=dict(type=AdamW, lr=lr, betas=(0.9, 0.999), weight_decay=0),
    clip_grad=dict(max_norm=1, error_if_nonfinite=False))
param_scheduler = [
    dict(type=LinearLR, start_factor=1e-3, by_epoch=False, begin=0, end=warmup_iters),
    dict(type=CosineAnnealingLR, eta_min=0.0, by_epoch=False, begin=warmup_iters, end=max_iters)
]
train_cfg = dict(type=TrainLoop, max_iters=max_iters)

custom_hooks = [
    dict(type=DatasetInfoHook, tokenizer=tokenizer),
    dict(
        type=DialogueHook, tokenizer=tokenizer, image_processor=image_processor, pictures=pictures,
        questions=questions, prompt_template=prompt_template, every_n_iters=save_steps)
]
default_hooks = dict(
    timer=dict(type=IterTimerHook),
    logger=dict(type=LoggerHook, log_metric_by_epoch=False, interval=10),
    param_scheduler=dict(type=ParamSchedulerHook),
    checkpoint=dict(type=CheckpointHook, by_epoch=False, interval=save_steps, max_keep_ckpts=2),
    sampler_seed=dict(type=DistSamplerSeedHook))
env_cfg = dict(
    cudnn_benchmark=False, mp_cfg=dict(mp_start_method='fork', opencv_num_threads=0), dist_cfg=dict(backend='nccl'))
visualizer = None
log_level = 'INFO'
load_from = None
resume = False
randomness = dict(seed=0, deterministic=False)
log_processor = dict(by_epoch=False)
