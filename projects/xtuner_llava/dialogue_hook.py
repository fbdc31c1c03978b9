"""Shows during training what the model answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from mmengine.config import ConfigDict
from mmengine.dist import master_only
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from xtuner.registry import BUILDER

from projects.xtuner_llava.dialogue import Dialogue, ask_all


class DialogueHook(Hook):
    """Asks about some pictures before training, every so many updates, and at the end; answers go to the log.

    XTuner's own hook of this kind pads pictures to squares whatever the training does, and reads no orientation.

    Args:
        tokenizer, image_processor: configs, as those of the data set.
        pictures: files.
        questions: asked about each of them, one after the other.
        prompt_template: as in training.
        every_n_iters: updates between two rounds; None: only at the ends.
        max_new_tokens: longest answer.
    """

    priority = 'LOW'

    def __init__(self, tokenizer: dict, image_processor: dict, pictures: Sequence[str], questions: Sequence[str],
                 prompt_template: ConfigDict, every_n_iters: Optional[int] = None, max_new_tokens: int = 64) -> None:
        self.tokenizer, self.processor = BUILDER.build(tokenizer), BUILDER.build(image_processor)
        self.pictures, self.questions, self.template = list(pictures), list(questions), prompt_template
        self.every_n_iters, self.max_new_tokens = every_n_iters, max_new_tokens

    def before_train(self, runner: Runner) -> None:
        """Ask for the first time."""
        self._ask(runner)

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None) -> None:
        """Ask if it is time."""
        if self.every_n_iters is not None and self.every_n_train_iters(runner, self.every_n_iters):
            self._ask(runner)

    def after_train(self, runner: Runner) -> None:
        """Ask for the last time."""
        self._ask(runner)

    @master_only
    def _ask(self, runner: Runner) -> None:
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        training, use_cache = model.training, model.llm.config.use_cache
        checkpointing = model.llm.is_gradient_checkpointing
        model.eval()
        model.llm.config.use_cache = True
        model.activation_checkpointing_disable()
        for picture in self.pictures:
            dialogue = Dialogue(model, self.tokenizer, self.processor, self.template, picture, self.max_new_tokens)
            runner.logger.info(f'{picture}\n{ask_all(dialogue, self.questions)}')
        if checkpointing:
            model.activation_checkpointing_enable()
        model.llm.config.use_cache = use_cache
        model.train(training)
