"""Measures a folder of predictions with the test data and the metrics of a config."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

from mmengine.config import Config
from mmengine.evaluator import Evaluator
from mmengine.structures import BaseDataElement

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.label_table import LabelTable
from sapiens2.evaluation.predictions.conventions import CONVENTIONS
from sapiens2.evaluation.predictions.fields import read_fields, without_holes
from sapiens2.evaluation.predictions.files import ERROR, check_missing, image_stems, match_files, task_folder
from sapiens2.evaluation.predictions.people_samples import pose_samples
from sapiens2.registry import DATASETS, register_all
from sapiens2.structures import DataSample
from sapiens2.structures.names import sample_name
from sapiens2.utils.choices import ALIGNMENTS
from sapiens2.utils.suggest import check_names, unknown_name
from sapiens2.utils.tasks import task_of

MISSING = (ERROR, 'skip')
# Wraps an iterable, for progress: (indices, how many) -> the indices.
Follow = Callable[[Iterable[int], int], Iterable[int]]


@dataclass(frozen=True)
class PredictionOptions:
    """How predictions are read.

    Args:
        convention: a key of ``CONVENTIONS``.
        align: a name of ``ALIGNMENTS``; for the task pointmap. Others than 'none' are fitted to the truth, image by
            image.
        missing: 'error', or 'skip', which leaves out images without prediction, and pixels without a value, and counts
            them.
        ending: only files with this ending are looked at, such as '.npy'.
        label_map: for seg: name of a map of the class set, or JSON file {"stored label": label}.
        depth_unit: metres of one step of depth that is stored as whole numbers.
        true_camera: whether depth without K of its own is turned into points with the K of the data set.

    Raises:
        UnknownNameError: for a name that there is not.
        ValueError: for a unit that is not positive.
    """

    convention: str = 'sapiens2'
    align: str = 'none'
    missing: str = ERROR
    ending: Optional[str] = None
    label_map: Optional[str] = None
    depth_unit: float = 0.001
    true_camera: bool = False

    def __post_init__(self) -> None:
        check_names([self.convention], CONVENTIONS, '--convention', 'convention')
        check_names([self.align], ALIGNMENTS, '--align', 'alignment')
        check_names([self.missing], MISSING, '--missing')
        if not self.depth_unit > 0:
            raise ValueError(f'--depth-unit: must be positive metres, this is {self.depth_unit}')


def add_alignment(cfg: Config, align: str, points: bool = True) -> None:
    """Let the test evaluator of a config of the task pointmap align predictions, and measure depth too.

    Args:
        points: whether points are measured; false for depth without camera.

    Raises:
        ValueError: for another task.
    """
    if task_of(cfg) != 'pointmap':
        raise ValueError(f'--align: is for pointmaps and depth, this config is of the task {task_of(cfg)}')
    given = cfg.test_evaluator if isinstance(cfg.test_evaluator, (list, tuple)) else [cfg.test_evaluator]
    metrics = [{**metric, 'align': align} if metric['type'] in ('PointmapMetric', 'DepthMetric') else metric
               for metric in given if points or metric['type'] != 'PointmapMetric']
    if not any(metric['type'] == 'DepthMetric' for metric in metrics):
        metrics.append(dict(type='DepthMetric', align=align))
    cfg.test_evaluator = metrics


def measure_predictions(cfg: Config, predictions: Union[str, Path], options: PredictionOptions = PredictionOptions(),
                        follow: Follow = lambda indices, count: indices) -> dict[str, float]:
    """Measure predictions as ``sapiens2 test CONFIG CHECKPOINT`` measures those of a checkpoint.

    Args:
        cfg: a config of any task. Its evaluator measures depth, too, if the task is pointmap.
        predictions: folder of files, one an image; for pose also one COCO results file.
        options: how they are read.
        follow: sees the indices of the samples pass by, for progress.

    Returns:
        The figures by name, and counts: ``predictions/images`` measured, ``predictions/missing_images`` and
        ``predictions/missing_pixels`` left out; for pose ``predictions/people``, and ``predictions/keypoints``, how
        many of the points of the data set the prediction has.

    Raises:
        DataError, ImageReadError: naming the file and what is wrong.
        ValueError: naming the sample, or an option that does not fit.
    """
    register_all()
    task, folder = task_of(cfg), Path(predictions)
    if not folder.exists():
        raise DataError(Fault(Kind.UNREADABLE, str(folder), 'does not exist', '--predictions'))
    convention = CONVENTIONS[options.convention]
    if task not in convention.endings:
        fitting = [name for name, other in CONVENTIONS.items() if task in other.endings]
        raise ValueError(f'--convention {options.convention}: has no predictions of {task}; those that have: '
                         f'{", ".join(fitting)}')
    if convention.align and options.align not in convention.align and task == 'pointmap':
        raise ValueError(f'--convention {options.convention}: its depth is not metric; give --align '
                         f'{" or ".join(convention.align)}')
    if options.align != 'none' and task != 'pointmap':
        add_alignment(cfg, options.align)  # says that it cannot
    dataset = DATASETS.build(cfg.test_dataloader['dataset'])
    counts = {'images': 0, 'missing_images': 0}
    make = pose_samples if task == 'pose' else _dense_samples
    samples = make(dataset, folder, cfg, options, counts, follow)
    evaluator, seen = None, 0
    for sample in samples:
        if evaluator is None:
            if task == 'pointmap':
                add_alignment(cfg, options.align, 'pointmap' in sample.pred_fields or 'K' in sample.pred_fields)
            evaluator = Evaluator(cfg.test_evaluator)
            evaluator.dataset_meta = dataset.metainfo
        evaluator.process([sample])
        seen += 1
    if evaluator is None:
        raise DataError(Fault(Kind.EMPTY, str(folder), 'has no prediction of an image of the test set', '',
                              'predictions lie under the name of their image'))
    return {**evaluator.evaluate(seen), **{f'predictions/{name}': float(count) for name, count in counts.items()}}


def _dense_samples(dataset: Any, folder: Path, cfg: Config, options: PredictionOptions, counts: dict[str, int],
                   follow: Follow) -> Iterator[DataSample]:
    """Samples with ``pred_fields``; ``counts`` is filled."""
    task, convention = task_of(cfg), CONVENTIONS[options.convention]
    stems = image_stems(dataset)
    files = match_files(task_folder(folder, task), convention, task, stems, options.ending)
    endings = [options.ending] if options.ending else convention.endings[task]
    check_missing([image for image, file in files.items() if file is None], len(files), folder, endings,
                  options.missing, counts)
    labels = _labels(options.label_map, dataset) if task == 'seg' else None
    counts['missing_pixels'] = 0
    for index in follow(range(len(dataset)), len(dataset)):
        file = files[dataset.get_data_info(index)['img_path']]
        if file is None:
            continue
        sample = dataset[index]['data_samples']
        truth = sample.eval_fields
        matrix = truth.K.numpy() if options.true_camera and 'K' in truth else None
        fields = read_fields(file, task, convention, options.depth_unit, labels, matrix)
        name, size = sample_name(sample, index), tuple(int(side) for side in sample.ori_shape[:2])
        for field, value in fields.items():
            if field != 'K' and tuple(value.shape[-2:]) != size:
                raise DataError(Fault(Kind.SIZE, file, f'{field} has height, width {tuple(value.shape[-2:])}, {name} '
                                      f'has {size}', field, 'resize predictions to the size of the upright image'))
        if task != 'seg':
            mask, holes = without_holes(fields, truth)
            if holes and options.missing == ERROR:
                raise DataError(Fault(Kind.NOT_FINITE, file, f'has no value at {holes} pixels that are measured', task,
                                      '--missing skip leaves them out and counts them'))
            truth.mask, counts['missing_pixels'] = mask, counts['missing_pixels'] + holes
        sample.pred_fields = BaseDataElement(**fields)
        counts['images'] += 1
        yield sample


def _labels(label_map: Optional[str], dataset: Any) -> LabelTable:
    classes, maps = dataset.metainfo['classes'], dataset.metainfo.get('label_maps', {})
    if label_map is None:
        return LabelTable.build(len(classes))
    if label_map in maps:
        return LabelTable.build(len(classes), maps[label_map])
    if not Path(label_map).is_file():
        raise DataError('--label-map: ' + unknown_name(label_map, maps, 'map of labels, and no file'))
    content = read_json(label_map)
    try:
        pairs = {int(stored): label for stored, label in content.items()}
    except (AttributeError, ValueError) as error:
        raise DataError(Fault(Kind.WRONG_TYPE, label_map, 'must be {"stored label": label}', 'label_map')) from error
    return LabelTable.build(len(classes), pairs)
