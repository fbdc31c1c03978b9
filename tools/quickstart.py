"""All five tasks, with the smallest network and random weights, on the portrait that scikit-image carries.

It shows that the installation works and what results look like; an untrained network finds nothing in the picture.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from skimage.data import astronaut

from sapiens2.apis import Sapiens2Inferencer
from sapiens2.apis.image_sources import ImageSource
from sapiens2.apis.result_files import FIELD_OF_TASK
from sapiens2.cli.infer_report import Report
from sapiens2.utils.image_io import write_image
from sapiens2.utils.tasks import TASKS
from sapiens2.visualization import contact_sheet, draw_field, draw_people

# Heat maps of an untrained network have no peaks; draw every point all the same.
ANY_SCORE = float('-inf')

# What looks like a fault and is none: untrained albedo lies near zero, and what is negative is shown black.
CAPTIONS = {'albedo': 'albedo (untrained: nearly black)'}


def main() -> int:
    """Run, and say where the results are; 1 if a task failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', type=Path, default=Path('work_dirs/quickstart'), help='default: %(default)s')
    parser.add_argument('--model', default='sapiens2_0.1b', help='default: %(default)s')
    parser.add_argument('--device', default='auto', help='default: %(default)s')
    args = parser.parse_args()
    print(f'{args.model} with RANDOM weights on one portrait: this shows that everything runs, not what a trained '
          'network finds.')
    start = time.perf_counter()
    portrait = ImageSource('astronaut', pixels=astronaut()[..., ::-1].copy())
    image = portrait.read()
    tiles = [('portrait', image)]
    report = Report()
    for task in TASKS:
        inferencer = Sapiens2Inferencer(task, args.model, weights='random', device=args.device, flip_test=False)
        options = dict(whole_image=True) if task == 'pose' else {}
        results = inferencer.iterate([portrait], out_dir=args.out, score_thr=ANY_SCORE, **options)
        for result in report.follow(task, results, total=1):
            if result['error'] is None:
                tiles.append((CAPTIONS.get(task, task), draw_people(image, result, ANY_SCORE) if task == 'pose'
                              else draw_field(FIELD_OF_TASK[task], image, result[FIELD_OF_TASK[task]])))
    sheet = args.out / 'contact_sheet.jpg'
    write_image(sheet, contact_sheet(tiles, columns=3, title=f'{args.model}, random weights: no result means anything'))
    report.print_summary(args.out)
    print(f'Contact sheet: {sheet} ({time.perf_counter() - start:.0f} s in all)')
    return 1 if report.problems else 0


if __name__ == '__main__':
    sys.exit(main())
