"""The whole of ``sapiens2 infer`` against a loop over transformers' Sapiens2 with its processor.

    python benchmarks/infer_speed.py pose seg normal pointmap --pictures PHOTOGRAPHS --dtype bf16

Same pictures, weights (random ones in transformers' format, which both read), dtype and threads; each side is a process
of its own, from start to the last file. Both write the numbers of each picture (pose: JSON, else npz); ours draws
nothing.
Needs transformers with torchvision. Results are in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLASSES = {'pose': 'Sapiens2ForPoseEstimation', 'seg': 'Sapiens2ForSemanticSegmentation',
           'normal': 'Sapiens2ForNormalEstimation', 'pointmap': 'Sapiens2ForPointmapEstimation'}
PICTURES = ('.jpg', '.jpeg', '.png')


def write_weights(task: str, model: str, folder: Path) -> Path:
    """Random weights of a task in transformers' format."""
    from safetensors.torch import save_file

    from sapiens2.utils.task_models import task_config
    from sapiens2.models.checkpoints.build import build_model
    from sapiens2.models.checkpoints.convert import convert
    file, target = folder / f'{task}.safetensors', folder / task
    state = build_model(task_config(task, model), 'random', 'cpu').state_dict()
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, file)
    convert(file, target, 'transformers', img_size=(1024, 768))
    return target


def their_loop(task: str, weights: Path, pictures: list[Path], out: Path, dtype: str) -> None:
    """What transformers' documentation shows, for each picture, with its numbers written."""
    import numpy as np
    import torch
    import transformers
    from PIL import Image
    torch_dtype = {'bf16': torch.bfloat16, 'fp32': torch.float32}[dtype]
    processor = transformers.Sapiens2ImageProcessor()
    model = getattr(transformers, CLASSES[task]).from_pretrained(weights, dtype=torch_dtype).eval()
    for path in pictures:
        image = Image.open(path).convert('RGB')
        size = (image.height, image.width)
        boxes = {'boxes': [[[0.0, 0.0, float(image.width), float(image.height)]]]} if task == 'pose' else {}
        inputs = processor(images=image, return_tensors='pt', **boxes)
        with torch.inference_mode():
            outputs = model(pixel_values=inputs['pixel_values'].to(torch_dtype))
            if task == 'pose':
                people = processor.post_process_pose_estimation(outputs, **boxes)[0]
                text = json.dumps([{name: value.float().tolist() for name, value in person.items()}
                                   for person in people])
                (out / f'{path.stem}.json').write_text(text)
            elif task == 'seg':
                labels = processor.post_process_semantic_segmentation(outputs, target_sizes=[size])[0]
                np.savez(out / f'{path.stem}.npz', sem_seg=labels.numpy().astype(np.uint8))
            else:
                post = getattr(processor, f'post_process_{task}_estimation')
                found = post(outputs, source_sizes=[size], target_sizes=[size])[0]
                np.savez(out / f'{path.stem}.npz', **{name: value.float().numpy() for name, value in found.items()
                                                      if value is not None})


def run(command: list[str], out: Path, ending: str) -> tuple[float, float, float]:
    """Seconds in all, seconds to the first file, and peak memory in GiB of one command."""
    start, first = time.perf_counter(), 0.0
    with open(out.with_suffix('.log'), 'w') as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        peak = 0
        while process.poll() is None:
            if not first and any(out.rglob(f'*{ending}')):
                first = time.perf_counter() - start
            peak = max(peak, resident(process.pid))
            time.sleep(0.02)
    if process.returncode:
        raise RuntimeError(f'{command}: exit code {process.returncode}: {out.with_suffix(".log").read_text()[-2000:]}')
    return time.perf_counter() - start, first, peak / 2**30


def resident(pid: int) -> int:
    """Resident memory of a process, bytes, with what is mapped from files of weights."""
    try:
        lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith('VmRSS'))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('tasks', nargs='+', choices=CLASSES)
    parser.add_argument('--pictures', type=Path, required=True)
    parser.add_argument('--model', default='sapiens2_0.1b')
    parser.add_argument('--dtype', default='bf16', choices=('bf16', 'fp32'))
    parser.add_argument('--count', type=int, default=12)
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--loop', nargs=2, metavar=('WEIGHTS', 'OUT'), type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    pictures = sorted(path for path in args.pictures.rglob('*') if path.suffix.lower() in PICTURES)[:args.count]
    if args.loop:
        their_loop(args.tasks[0], args.loop[0], pictures, args.loop[1], args.dtype)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / 'list.txt').write_text('\n'.join(map(str, pictures)))
        print('| task | ours, images/s | theirs | ratio | first result, s | theirs | peak GiB | theirs |')
        print('|---|---|---|---|---|---|---|---|')
        for task in args.tasks:
            weights = write_weights(task, args.model, folder)
            ending = '.json' if task == 'pose' else '.npz'
            best: dict[str, tuple[float, float, float]] = {}
            for number in range(args.rounds):
                for side in ('theirs', 'ours'):
                    out = folder / f'{task}_{side}_{number}'
                    out.mkdir()
                    command = [sys.executable, __file__, task, '--pictures', str(args.pictures), '--dtype', args.dtype,
                               '--count', str(args.count), '--loop', str(weights), str(out)]
                    if side == 'ours':
                        people = ['--whole-image', '--no-flip-test'] if task == 'pose' else ['--only', 'npz']
                        command = [sys.executable, '-m', 'sapiens2.cli', 'infer', task, str(folder / 'list.txt'),
                                   '--model', args.model, '--weights', str(weights), '--out', str(out), '--dtype',
                                   args.dtype, '--no-pictures', *people]
                    found = run(command, out, ending)
                    best[side] = min(best.get(side, found), found)
            ours, theirs = best['ours'], best['theirs']
            print(f'| {task} | {len(pictures) / ours[0]:.3f} | {len(pictures) / theirs[0]:.3f} | '
                  f'{theirs[0] / ours[0]:.2f} | {ours[1]:.1f} | {theirs[1]:.1f} | {ours[2]:.2f} | {theirs[2]:.2f} |',
                  flush=True)


if __name__ == '__main__':
    main()
