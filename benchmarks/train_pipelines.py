"""Time that each task's training pipeline takes for one 1536x1152 image on one core, against half the released time.

    python benchmarks/train_pipelines.py [--tasks seg normal] [--draws 60] [--blocks 5]

A made-up image and ground truth are written to a temporary folder: JPEG, labels, masks and albedo as PNG, normals and
depth as npy. The pipeline of the task's data-set config then runs for many draws, each with its own random
augmentations: once from the loaded image on ("steps"), and once with the reading of the files ("with files"), which
then lie in the system's cache. The draws are made in blocks; the least and the median of the blocks' means are
printed, in processor time, which other programs disturb little, and in wall time. The released times are means over
random augmentations without reading.
"""

from __future__ import annotations

import os

# One core: these are read when the libraries are loaded.
os.environ.update(OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1', MKL_NUM_THREADS='1')

import argparse  # noqa: E402
import json  # noqa: E402
import statistics  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, Optional  # noqa: E402

import cv2  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from mmengine.config import Config  # noqa: E402

from sapiens2.datasets.base import BaseHumanDataset  # noqa: E402
from sapiens2.datasets.samplers.draw import Draw, random_state  # noqa: E402
from sapiens2.registry import DATASETS  # noqa: E402

SIZE = (1536, 1152)  # (H, W), pixels
CONFIGS = Path(__file__).parents[1] / 'configs' / '_base_' / 'datasets'
CONFIG_OF = {'pose': 'coco_wholebody', 'seg': 'seg_folder', 'normal': 'normal_folder', 'pointmap': 'pointmap_folder',
             'albedo': 'albedo_folder'}
# Seconds an image of the released pipelines on one such core; pose was not measured.
RELEASED = {'seg': 0.116, 'normal': 0.075, 'pointmap': 0.065, 'albedo': 0.033}
LOADERS = ('LoadImage', 'LoadFields')
WHOLEBODY = {'foot_kpts': 6, 'face_kpts': 68, 'lefthand_kpts': 21, 'righthand_kpts': 21}


def picture(rng: np.random.Generator) -> np.ndarray:
    """(H, W, 3) uint8 with detail at every scale, as in a photograph."""
    image = np.full((*SIZE, 3), 128, np.float32)
    for step in (4, 16, 64, 256):
        grid = rng.normal(0, 20, (SIZE[0] // step, SIZE[1] // step, 3)).astype(np.float32)
        image += cv2.resize(grid, SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    return np.clip(image, 0, 255).astype(np.uint8)


def write_image_and_fields(task: str, root: Path) -> dict[str, Any]:
    """Write one sample of ``task``; returns what the data set of its config is to be told."""
    rng = np.random.default_rng(0)
    image = picture(rng)
    rows, columns = np.mgrid[:SIZE[0], :SIZE[1]].astype(np.float32)
    x, y = (columns - SIZE[1] / 2) / 500, (rows - SIZE[0] / 2) / 700
    body = x * x + y * y < 1
    z = -np.sqrt(np.clip(1 - x * x - y * y, 0, None))
    fields: dict[str, Any] = {
        'sem_seg': np.where(body, image[..., 0] // 9, 0).astype(np.uint8),
        'normal': np.where(body[..., None], np.stack([x, y, z], axis=-1), 0).astype(np.float32),
        'depth': (3 + z).astype(np.float32),
        'albedo': image[..., ::-1],
        'mask': body.astype(np.uint8) * 255,
        'K': dict(fx=1500.0, fy=1500.0, cx=575.5, cy=767.5),
    }
    if task == 'pose':
        cv2.imwrite(str(root / 'a.jpg'), image)
        (root / 'people.json').write_text(json.dumps(people(rng)), encoding='utf-8')
        return dict(data_root=str(root), ann_file='people.json', data_prefix=dict(img_path=''))
    prefixes = Config.fromfile(CONFIGS / f'{CONFIG_OF[task]}.py').train_dataloader.dataset.data_prefix
    for name, prefix in prefixes.items():
        file = root / prefix / 'a'
        file.parent.mkdir(parents=True)
        value = image if name == 'img_path' else fields[name]
        if isinstance(value, dict):
            file.with_suffix('.json').write_text(json.dumps(value), encoding='utf-8')
        elif value.dtype == np.uint8:
            cv2.imwrite(str(file.with_suffix('.jpg' if name == 'img_path' else '.png')), value)
        else:
            np.save(file.with_suffix('.npy'), value)
    return dict(data_root=str(root))


def people(rng: np.random.Generator) -> dict[str, Any]:
    """A COCO-WholeBody annotation of one person who fills most of the picture."""
    def points(count: int) -> list[float]:
        places = rng.uniform((300, 200), (850, 1350), (count, 2))
        return np.insert(places, 2, 2, axis=1).ravel().tolist()

    person = {'id': 1, 'image_id': 1, 'category_id': 1, 'iscrowd': 0, 'num_keypoints': 17,
              'bbox': [280, 180, 590, 1190], 'area': 700000.0, 'keypoints': points(17),
              **{name: points(count) for name, count in WHOLEBODY.items()},
              **{f'{name.removesuffix("_kpts")}_valid': True for name in WHOLEBODY}}
    return {'images': [dict(id=1, file_name='a.jpg', height=SIZE[0], width=SIZE[1])], 'annotations': [person],
            'categories': [dict(id=1, name='person')]}


def draw_functions(dataset: BaseHumanDataset) -> dict[str, Callable[[int], Any]]:
    """What is timed: draw number ``position`` without and with the reading of files."""
    steps = dataset.pipeline.transforms
    loaded = dataset.get_data_info(0)
    loaded['dataset_meta'] = dataset.metainfo
    for step in steps:
        if type(step).__name__ in LOADERS:
            loaded = step(loaded)

    def without_files(position: int) -> Any:
        results = dict(loaded)
        with random_state(0, position):
            for step in steps:
                if type(step).__name__ not in LOADERS:
                    results = step(results)
        return results

    return {'steps': without_files, 'with files': lambda position: dataset[Draw(0, position)]}


def measure(draw: Callable[[int], Any], draws: int, blocks: int) -> list[tuple[float, float]]:
    """(processor, wall) milliseconds an image of each block."""
    times = []
    for block in range(-1, blocks):  # the first one warms up
        cpu, wall = time.process_time(), time.perf_counter()
        for position in range(draws):
            draw(block * draws + position if block >= 0 else position)
        times.append(((time.process_time() - cpu) / draws * 1e3, (time.perf_counter() - wall) / draws * 1e3))
    return times[1:]


def row(task: str, name: str, times: list[tuple[float, float]]) -> str:
    """One line of the printed table."""
    cpu, wall = zip(*times)
    released: Optional[float] = RELEASED.get(task) if name == 'steps' else None
    ratio = f'{min(cpu) / released / 1e3:.2f}' if released else '-'
    return (f'{task:9} {name:10} {min(cpu):8.1f} {statistics.median(cpu):8.1f} {min(wall):9.1f} '
            f'{statistics.median(wall):9.1f} {ratio:>14}')


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tasks', nargs='+', choices=CONFIG_OF, default=list(CONFIG_OF))
    parser.add_argument('--draws', type=int, default=60, help='draws a block')
    parser.add_argument('--blocks', type=int, default=5)
    args = parser.parse_args()
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    print('milliseconds an image, one core; the same draws for every version of the program')
    print(f'{"task":9} {"what":10} {"cpu min":>8} {"median":>8} {"wall min":>9} {"median":>9} {"cpu / released":>14}')
    for task in args.tasks:
        with tempfile.TemporaryDirectory() as folder:
            told = write_image_and_fields(task, Path(folder))
            config = Config.fromfile(CONFIGS / f'{CONFIG_OF[task]}.py').train_dataloader.dataset
            dataset = DATASETS.build({**config, **told})
            for name, draw in draw_functions(dataset).items():
                print(row(task, name, measure(draw, args.draws, args.blocks)), flush=True)


if __name__ == '__main__':
    main()
