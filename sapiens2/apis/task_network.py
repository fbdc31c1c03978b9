"""One task's network, with what brings images to it and what makes results of its output."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional, Union

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from torch import Tensor, nn

from sapiens2.apis.journal import content_id
from sapiens2.apis.outputs import FIELD_OF_TASK
from sapiens2.export.exported_network import ExportedNetwork
from sapiens2.export.formats import check_not_renamed, is_exported
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.models.checkpoints.describe import LAST_LAYERS
from sapiens2.models.checkpoints.hub import local_weights
from sapiens2.models.checkpoints.same_backbone import same_tensor
from sapiens2.models.checkpoints.small_machine import build_for_inference
from sapiens2.registry import TRANSFORMS
from sapiens2.structures import DataSample
from sapiens2.utils.task_models import (DEFAULT_MODEL, check_task, dataset_meta, inference_pipeline, model_name,
                                       set_image_size, task_config)
from sapiens2.weights import embedded_weights

NOT_FINITE = "the network gave values that are not finite numbers. Check the weights, and try dtype 'fp32'"


class TaskNetwork:
    """A network that is ready to run.

    Args:
        task, model, weights, img_size, flip_test, stream_layers, int8_weights, trust_exported: see
            ``Sapiens2Inferencer``.
        device, dtype: where and in what it is to compute.

    Attributes:
        device: where it computes.
        cfg: its config.
        dataset_meta: names and colours of what it predicts.
        pipeline: brings an image, or a person of it, to the network.
        model: the estimator.
        model_name, weights_name: for results.
        weights: the file they came from, None for random ones.
        file_dtype: what an exported file computes in, 'fp32' for instance; None for other networks.
    """

    def __init__(self, task: str, model: Union[str, os.PathLike, Config, None], weights: Union[str, os.PathLike, None],
                 device: torch.device, dtype: torch.dtype, img_size: Optional[tuple[int, int]] = None,
                 flip_test: Optional[bool] = None, stream_layers: str = 'auto', int8_weights: bool = False,
                 trust_exported: bool = False) -> None:
        self.task, self.device = check_task(task), device
        if weights is not None and not os.fspath(weights):
            raise ValueError('weights: the name of the file is empty')
        chosen = DEFAULT_MODEL if model is None else model
        if weights is None and isinstance(chosen, str) and not chosen.endswith('.py'):
            weights = embedded_weights(task, model_name(task, chosen))
        self.weights = None if weights in (None, RANDOM) else local_weights(weights)
        self.weights_name = RANDOM if self.weights is None else self.weights.name
        exported = ExportedNetwork(self.weights, device, trust_exported) if is_exported(self.weights) else None
        if self.weights is not None:
            check_not_renamed(self.weights)
        self.file_dtype = None if exported is None else exported.info['dtype']
        if exported is not None:
            if int8_weights or stream_layers == 'always':
                raise ValueError(f'{self.weights}: an exported file has its weights as they were written: leave out '
                                 'int8_weights (--int8-weights) and stream_layers (--stream-layers)')
            self.cfg = exported.config(task, img_size)
            if model is not None:
                _check_model(task, model, exported)
        else:
            self.cfg = task_config(task, chosen)
            if img_size is not None:
                set_image_size(self.cfg, img_size)
        if flip_test is not None and task == 'pose':
            self.cfg.model.test_cfg = dict(self.cfg.model.get('test_cfg') or {}, flip_test=flip_test)
        self.dataset_meta = dataset_meta(task, self.cfg)
        self.steps = inference_pipeline(self.cfg)
        self.pipeline = Compose([TRANSFORMS.build(step) for step in self.steps])
        self.model = exported.estimator(self.cfg) if exported is not None else build_for_inference(
            self.cfg.model, self.weights or weights, device, dtype, stream_layers, int8_weights).eval()
        self.model_name = self.model.backbone.arch_name
        _predict_in_float32(self.model.decode_head)

    @functools.cached_property
    def settings(self) -> Optional[dict[str, Any]]:
        """All of the network that decides its results, in JSON's types; None for random weights, which are never the
        same."""
        if self.weights is None:
            return None
        return {'model': self.cfg.model.to_dict(), 'steps': self.steps,
                'weights': [self.weights_name, content_id(self.weights)]}

    def values(self, outputs: Sequence[Any], samples: Sequence[DataSample],
               **options: Any) -> dict[str, np.ndarray]:
        """What a result holds beside its heading.

        Args:
            outputs: of the network, one for each crop of one image, each for a batch of one.
            samples: of the crops.
            options: of the decoder's ``predictions``, in place of those of the config.

        Raises:
            ValueError: if a value is not a finite number.
        """
        # Of the output too, because classes and peaks made of NaN look like any other.
        finite = all(is_finite(output) for output in outputs)
        with own_arithmetic(self.device):
            for output, sample in zip(outputs, samples):
                self.model.decode_head.predictions(output, [sample], **{**self.model.head_options(), **options})
        values = self._people(samples) if self.task == 'pose' else self._maps(samples[0])
        if not finite or not all(np.isfinite(value).all() for value in values.values() if value.dtype.kind == 'f'):
            raise ValueError(NOT_FINITE)
        return values

    def _maps(self, sample: DataSample) -> dict[str, np.ndarray]:
        """(H, W) classes or (H, W, 3) values."""
        field = FIELD_OF_TASK[self.task]
        predicted = sample.pred_fields
        value = predicted.get(field).cpu().numpy()
        if self.task == 'seg':
            soft = {'seg_probs': predicted.seg_probs.cpu().numpy()} if 'seg_probs' in predicted else {}
            return {field: value.astype(np.uint8), **soft}
        values = {field: np.ascontiguousarray(value.transpose(1, 2, 0))}
        if self.task == 'pointmap':
            values.update(scale=predicted.scale.cpu().numpy(), focal=predicted.focal.cpu().numpy())
        return values

    def _people(self, samples: Sequence[DataSample]) -> dict[str, np.ndarray]:
        """Key points of all people of one image."""
        count = len(self.dataset_meta['keypoint_names'])
        found = [sample.pred_instances for sample in samples]
        return {
            'keypoints': np.concatenate([np.zeros((0, count, 2), np.float32)]
                                        + [person.keypoints.float().cpu().numpy() for person in found]),
            'keypoint_scores': np.concatenate([np.zeros((0, count), np.float32)]
                                              + [person.keypoint_scores.float().cpu().numpy() for person in found]),
        }


def _check_model(task: str, model: Union[str, os.PathLike, Config], exported: ExportedNetwork) -> None:
    """
    Raises:
        ValueError: if an exported file holds another network than ``model``.
    """
    arch = task_config(task, model).model.backbone.get('arch')
    if arch is not None and arch != exported.info['model']:
        raise ValueError(f'{exported.path}: holds the network {exported.info["model"]}, not {arch}: name it as '
                         'the model (--model) or none, or give the weights of the other one')


def _predict_in_float32(head: nn.Module) -> None:
    """Compute a decoder's last layers in float32.

    The three digits of bf16 would round a surface 3 m away to 16 mm, and leave ties between classes.
    """
    for name, layer in head.named_children():
        if name in (*LAST_LAYERS, 'scale_final_layer'):
            layer.float().register_forward_pre_hook(_in_float32)


def _in_float32(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(value.float() for value in inputs)


@contextmanager
def own_arithmetic(device: torch.device) -> Iterator[None]:
    """No gradients, and the dtypes of the network: the caller's autocast, which other threads lack, does not count."""
    with torch.inference_mode(), torch.autocast(device.type, enabled=False):
        yield


def is_finite(output: Any) -> bool:
    """Whether all values of a network's output, a tensor or several, are finite."""
    return all(bool(values.isfinite().all()) for values in (output if isinstance(output, tuple) else (output,)))


def of_one(output: Any, index: int) -> Any:
    """The output for one image of a batch, as a batch of one."""
    return tuple(values[index:index + 1] for values in output) if isinstance(output, tuple) \
        else output[index:index + 1]


def share_backbones(networks: Sequence[TaskNetwork]) -> None:
    """Let networks whose backbones have the same weights use one backbone."""
    for index, network in enumerate(networks):
        for other in networks[:index]:
            if network.model.backbone is not other.model.backbone and _equal(network.model.backbone,
                                                                             other.model.backbone):
                network.model.backbone = other.model.backbone
                break


def _equal(first: nn.Module, second: nn.Module) -> bool:
    """Whether two modules hold the same tensors; the first difference ends the comparison."""
    one, two = first.state_dict(), second.state_dict()
    return one.keys() == two.keys() and all(same_tensor(one[name], two[name]) for name in one)


def see_the_same(networks: Mapping[str, TaskNetwork]) -> list[list[TaskNetwork]]:
    """Networks in groups that may share one pass: one backbone, the same images in the same size, no crops."""
    groups: list[list[TaskNetwork]] = []
    for network in networks.values():
        for group in groups:
            first = group[0]
            if network.task != 'pose' and first.task != 'pose' and network.model.backbone is first.model.backbone \
                    and network.steps == first.steps:
                group.append(network)
                break
        else:
            groups.append([network])
    return groups
