"""Lists for classification by MMPretrain: how many people a generated picture shows.

    PYTHONPATH=. python projects/openmmlab/people_count.py data/synth
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from sapiens2.utils.atomic import atomic_path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('data', type=Path, help='folder that sapiens2 synth has made')
    parser.add_argument('--out', type=Path, help='folder for the lists (default: DATA/annotations)')
    args = parser.parse_args()
    for split in ('train', 'val'):
        lines = labelled(args.data / 'annotations' / f'keypoints_{split}.json')
        path = (args.out or args.data / 'annotations') / f'people_{split}.txt'
        with atomic_path(path) as partial:
            partial.write_text('\n'.join(lines) + '\n', encoding='utf-8')
        counts = Counter(line.rsplit(' ', 1)[1] for line in lines)
        classes = ', '.join(f'class {name}: {counts[name]}' for name in sorted(counts))
        print(f'{path}: {len(lines)} pictures, {classes}')


def labelled(annotations: Path) -> list[str]:
    """Lines 'file class' of a COCO JSON, class 0 for one person; pictures without people are left out."""
    content = json.loads(annotations.read_text(encoding='utf-8'))
    people = Counter(annotation['image_id'] for annotation in content['annotations'])
    return [f'{image["file_name"]} {people[image["id"]] - 1}' for image in content['images'] if people[image['id']]]


if __name__ == '__main__':
    main()
