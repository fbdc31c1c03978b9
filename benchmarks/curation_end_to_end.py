"""Curate pictures of which is known what they are, and count what each rule of ``humans.py`` gets right.

    sapiens2 synth --num 5000 --size 256 192 --out data/synth
    python benchmarks/curation_end_to_end.py --synth data/synth --out work_dirs/curation

The pictures are those of ``curation_set.py``, the config ``configs/curation/humans.py``. Generated people are small,
so the two limits in pixels are made smaller with them: 384 pixels stand for pictures of 1024 x 768. Every stage sees
every picture (``drop_early=False``), so that each rule is counted on all, not on what the rules before it leave. It
may be stopped, and goes on with the same command.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pyarrow
import pyarrow.parquet
from curation_set import AS_GENERATED, BROKEN, COPIES, DRAWINGS, EMPTY, TEXTS, Label, build

from sapiens2.cli.main import main as sapiens2
from sapiens2.curation.chain import Chain
from sapiens2.curation.duplicates import NearDuplicates
from sapiens2.curation.score import figures_of
from sapiens2.utils.config import load_config

CONFIG = Path(__file__).parents[1] / 'configs/curation/humans.py'
_LONGER_SIDE = 1024  # pixels of the pictures that the limits of the config are made for
_SIDES = (0, 1, 24, 48, 96, 144, 1000)  # of people, pixels


def decoded(kinds: Sequence[str]) -> Callable[[Label], Optional[bool]]:
    """Whether a picture is of one of these kinds; not asked of files without picture."""
    return lambda label: None if label.kind in BROKEN else label.kind in kinds


def truths(limit: float) -> dict[str, Callable[[Label], Optional[bool]]]:
    """Column of a rule -> whether the rule should leave a picture out; None where that is not known."""
    def drawn(label: Label) -> Optional[bool]:
        known = label.kind in (*DRAWINGS, *AS_GENERATED, 'photograph without people', 'subtitle', 'watermark', 'meme')
        return label.kind in DRAWINGS if known else None

    def without_person(label: Label) -> Optional[bool]:
        return label.side < limit if label.kind in ('generated', *EMPTY) else None

    def under_text(label: Label) -> Optional[bool]:
        known = label.kind in (*TEXTS, *AS_GENERATED, *EMPTY)
        return label.kind in TEXTS if known else None

    def burnt_out(label: Label) -> Optional[bool]:
        return label.kind == 'burnt out' if label.kind in ('burnt out', *AS_GENERATED, 'landscape') else None

    def blurred(label: Label) -> Optional[bool]:
        return label.kind == 'blurred' if label.kind in ('blurred', *AS_GENERATED) else None

    return {'frames': decoded(['animated']), 'shorter_side': decoded(['too small']), 'aspect': decoded(['too long']),
            'contrast': decoded(['one colour']), 'sharpness': blurred, 'clipped': burnt_out, 'realism': drawn,
            'person_side': without_person, 'text_share': under_text}


def confusion(left_out: Sequence[bool], truth: Sequence[Optional[bool]]) -> list[str]:
    """Cells of a row: rightly and wrongly left out, missed, rightly kept; precision, recall, good ones kept."""
    pairs = Counter((bool(out), should) for out, should in zip(left_out, truth) if should is not None)
    right, wrong, missed, kept = (pairs[key] for key in ((True, True), (True, False), (False, True), (False, False)))

    def share(part: int, whole: int) -> str:
        return f'{part / whole:.3f}' if whole else '-'

    return [f'{value:,}' for value in (right, wrong, missed, kept)] + [
        share(right, right + wrong), share(right, right + missed), share(kept, kept + wrong)]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ['---', *['---:'] * (len(header) - 1)], *rows]
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in lines)


def rules_table(chain: Chain, scores: Any, labels: Sequence[Label], limit: float) -> str:
    """Confusion of each rule on all pictures."""
    errors = scores['error'].to_pylist()
    rows = [['quarantine', *confusion([bool(error) for error in errors], [label.kind in BROKEN for label in labels])]]
    for rule in chain.filters:
        truth = truths(limit).get(rule.column)
        if truth is None:
            continue
        out = ~rule.mask(scores[rule.column].to_pylist())
        asked = [None if error else truth(label) for error, label in zip(errors, labels)]
        rows.append([f'`{rule.name}`', *confusion(out, asked)])
    return markdown(('rule', 'rightly left out', 'wrongly', 'missed', 'rightly kept', 'precision', 'recall',
                     'kept of the good'), rows)


def copies_table(scores: Any, labels: Sequence[Label], near: NearDuplicates) -> str:
    """Which planted copies are found, and how many of the pairs are of different pictures."""
    kinds = ('generated', *COPIES, *EMPTY)
    rows = np.flatnonzero([label.kind in kinds for label in labels])
    table = scores.take(rows)
    hashes = [np.stack([np.frombuffer(value, np.uint8) for value in table[name].to_pylist()])
              for name in ('phash', 'phash_inner')]
    pairs = near.pairs(*hashes)
    chosen = [labels[row] for row in rows]
    of_one = [chosen[one].origin == chosen[other].origin and chosen[one].origin >= 0 for one, other in pairs]
    found: set[str] = set()
    for (one, other), right in zip(pairs.tolist(), of_one):
        for copy, original in ((chosen[one], chosen[other]), (chosen[other], chosen[one])):
            if right and original.kind == 'generated':
                found.add(copy.name)
    cells = [(kind, f'{sum(label.kind == kind for label in chosen):,}',
              f'{np.mean([label.name in found for label in chosen if label.kind == kind]):.3f}') for kind in COPIES]
    planted = [label for label in chosen if label.kind in COPIES]
    cells.append(('all copies', f'{len(planted):,}', f'{np.mean([label.name in found for label in planted]):.3f}'))
    wrong = [tuple(chosen[number].kind for number in pair) for pair, right in zip(pairs.tolist(), of_one) if not right]
    kinds_of_wrong = ', '.join(f'{count:,} of {" and ".join(pair)}'
                               for pair, count in Counter(map(tuple, map(sorted, wrong))).most_common())
    return markdown(('copy', 'planted', 'found beside the original'), cells) + (
        f'\n\nOf {len(pairs):,} pairs {sum(of_one):,} are of one picture: precision {np.mean(of_one):.4f}'
        + (f' (wrong: {kinds_of_wrong}).' if wrong else '.'))


def people_table(scores: Any, labels: Sequence[Label], limit: float) -> str:
    """How often somebody is found in generated pictures, by the size of the largest person."""
    found, sides = scores['num_people'].to_pylist(), scores['person_side'].to_pylist()
    chosen = [row for row, label in enumerate(labels) if label.kind == 'generated']
    rows = []
    for least, most in zip(_SIDES, _SIDES[1:]):
        of_size = [row for row in chosen if least <= labels[row].side < most]
        if of_size:
            rows.append((f'{least} to {most}' if least else 'nobody', f'{len(of_size):,}',
                         f'{np.mean([found[row] > 0 for row in of_size]):.3f}',
                         f'{np.mean([sides[row] >= limit for row in of_size]):.3f}'))
    for kind in EMPTY:
        of_kind = [row for row, label in enumerate(labels) if label.kind == kind]
        rows.append((kind, f'{len(of_kind):,}', f'{np.mean([found[row] > 0 for row in of_kind]):.3f}',
                     f'{np.mean([sides[row] >= limit for row in of_kind]):.3f}'))
    return markdown(('largest person, shorter side, pixels', 'pictures', 'somebody found', 'kept'), rows)


def outcome_table(reasons: Sequence[str], labels: Sequence[Label]) -> str:
    """What became of the pictures of each kind, all rules together."""
    rows = []
    for kind in dict.fromkeys(label.kind for label in labels):
        counts = Counter(reason for reason, label in zip(reasons, labels) if label.kind == kind)
        total = sum(counts.values())
        others = ', '.join(f'{reason} {count:,}' for reason, count in counts.most_common() if reason != 'kept')
        rows.append((kind, f'{total:,}', f'{counts["kept"]:,}', others))
    return markdown(('kind', 'pictures', 'kept', 'left out by'), rows)


def whole_table(reasons: Sequence[str], labels: Sequence[Label], limit: float) -> str:
    """Confusion of all rules together: groups of copies count once, by whether one of them is kept."""
    judged = [(label, reason) for label, reason in zip(labels, reasons)
              if label.kind in ('generated', *COPIES, *BROKEN, *DRAWINGS, *EMPTY, *TEXTS, 'animated', 'too small',
                                'too long', 'blurred', 'burnt out', 'one colour')]
    groups: dict[Any, list[tuple[Label, str]]] = {}
    for label, reason in judged:
        key = label.origin if label.kind in ('generated', *COPIES) else label.name
        groups.setdefault(key, []).append((label, reason))
    out = [all(reason != 'kept' for _, reason in group) for group in groups.values()]
    bad = [all(label.kind != 'generated' or label.side < limit for label, _ in group) for group in groups.values()]
    twice = sum(sum(reason == 'kept' for _, reason in group) > 1 for group in groups.values())
    return markdown(('', 'rightly left out', 'wrongly', 'missed', 'rightly kept', 'precision', 'recall',
                     'kept of the good'), [['all rules', *confusion(out, bad)]]) + (
        f'\n\n{twice:,} pictures are kept with one of their copies.')


def speed_table(paths: Sequence[Path]) -> str:
    """Images a second and core of each stage."""
    rows = []
    for stage, figures in figures_of(paths).items():
        images = figures['images']
        rows.append((stage, f'{images:,.0f}', f'{images / max(figures["core_seconds"], 1e-9):,.0f}',
                     f'{1000 * figures["core_seconds"] / max(images, 1):.2f}',
                     f'{figures["seconds"] / max(figures["core_seconds"], 1e-9):.2f}'))
    return markdown(('stage', 'pictures', 'a second of one core', 'core, ms a picture', 'clock / core'), rows)


def _longer_side(synth: Path) -> int:
    """Of generated pictures, pixels."""
    return max(json.loads((synth / 'manifest.json').read_text(encoding='utf-8'))['options']['size'])


def main() -> None:
    """Build, curate, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--synth', type=Path, required=True, help='folder of sapiens2 synth')
    parser.add_argument('--out', type=Path, required=True, help='folder for pictures, results and tables.md')
    parser.add_argument('--most', type=int, help='generated pictures to take (default: all)')
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--early', action='store_true', help='leave out early, as the config does: for speed and plan')
    args = parser.parse_args()
    labels = build(args.synth, args.out / 'set', args.most)
    cfg = load_config(CONFIG)
    scale = _longer_side(args.synth) / _LONGER_SIDE
    rules = [{**rule, 'at_least': round(rule['at_least'] * scale)} if rule['column'] in ('shorter_side', 'person_side')
             else rule for rule in cfg['filters']]
    limit = next(rule['at_least'] for rule in rules if rule['column'] == 'person_side')
    options = [f'filters.{number}.at_least={rule["at_least"]}' for number, rule in enumerate(rules)
               if rule is not cfg['filters'][number]]
    out = args.out / ('early' if args.early else 'all')
    status = sapiens2(['curate', str(CONFIG), '--data-root', str(args.out / 'set/images'), '--out', str(out),
                       '--workers', str(args.workers), '--cfg-options', f'drop_early={args.early}', *options,
                       *(['--plan', '1e6', '1e7', '1e8', '1e9', '4e9'] if args.early else [])])
    if status:
        raise SystemExit(status)
    paths = sorted((out / 'scores').glob('*.parquet'))
    scores = pyarrow.concat_tables(pyarrow.parquet.read_table(path) for path in paths)
    of_name = {label.name: label for label in labels}
    labels = [of_name[name] for name in scores['name'].to_pylist()]
    reasons = pyarrow.parquet.read_table(out / 'selection.parquet')['reason'].to_pylist()
    parts = [whole_table(reasons, labels, limit), outcome_table(reasons, labels), speed_table(paths)]
    if not args.early:
        chain = Chain(cfg['stages'], rules)
        near = NearDuplicates(**cfg.get('near_duplicates', {}))
        parts = [rules_table(chain, scores, labels, limit), people_table(scores, labels, limit),
                 copies_table(scores, labels, near), *parts]
    text = '\n\n'.join([f'{len(labels):,} pictures; options: {" ".join(options)}', *parts])
    (out / 'tables.md').write_text(text + '\n', encoding='utf-8')
    print(text)


if __name__ == '__main__':
    main()
