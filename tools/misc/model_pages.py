"""Tables of models and results, written from configs and metafiles into the pages of configs/ and docs/.

``python tools/misc/model_pages.py`` writes what is between the markers ``<!-- NAME -->`` and ``<!-- /NAME -->``, and
``--check`` only says which pages are not what would be written (exit code 1).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import yaml
from mmengine.config import Config

from sapiens2.utils.model_index import Release, load_model_index

ROOT = Path(__file__).resolve().parents[2]
ZOO_PAGE = ROOT / 'docs' / 'en' / 'model_zoo.md'
SOURCES = ('published', 'measured')
_REQUIRED = ('Model', 'Dataset', 'Metric', 'Value', 'Source')
_MEASURED = ('Command', 'Hardware', 'Seed', 'Tolerance')


class MetafileError(ValueError):
    """A metafile that cannot be turned into tables; names the file, the entry, the field and the remedy."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return '\n'.join('| ' + ' | '.join(cells) + ' |' if cells else '|' + '---|' * len(head)
                     for cells in (head, (), *rows))


def _number(value: Any) -> str:
    """A number of a config as a reader writes it: 40,000, 5e-4, 0.9; a dash for none."""
    if value is None:
        return '-'
    if isinstance(value, int):
        return f'{value:,}'
    if 0 < abs(value) < 1e-2:
        return re.sub(r'\.?0*e-0?', 'e-', f'{value:.6e}')
    return f'{value:g}'


def _recipe(model: dict[str, Any], folder: Path) -> list[str]:
    path = ROOT / model['Config']
    config = Config.fromfile(path)
    optim = config.optim_wrapper
    return [
        f'[`{model["Name"]}`]({path.relative_to(folder).as_posix()})', model['Metadata']['Training Data'],
        _number(config.train_cfg.max_iters), _number(optim.optimizer.lr),
        _number(optim.get('paramwise_cfg', {}).get('layer_decay_rate')),
        _number((optim.get('clip_grad') or {}).get('max_norm'))]


def check_results(metafile: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The entries of ``Results``, in the order of the file.

    Args:
        metafile: its content.
        name: of the file, for messages.

    Raises:
        MetafileError: if a field is missing, or an entry is of no model of the file or of an unknown source.
    """
    models = {model['Name'] for model in metafile['Models']}
    results = metafile.get('Results') or []
    for i, entry in enumerate(results):
        where = f'{name}: Results[{i}]'
        needed = _REQUIRED + {'measured': _MEASURED, 'published': ('URL',)}.get(entry.get('Source'), ())
        missing = [field for field in needed if field not in entry]
        if missing:
            raise MetafileError(f'{where} has no {", ".join(missing)}: add it, or remove the entry')
        if entry['Source'] not in SOURCES:
            raise MetafileError(f"{where}: Source is {entry['Source']!r}: write one of {', '.join(SOURCES)}")
        if entry['Model'] not in models:
            raise MetafileError(f"{where}: Model {entry['Model']!r} is not in Models of this file: add it there")
    return results


def _result(entry: dict[str, Any]) -> list[str]:
    if entry['Source'] == 'published':
        origin = f'[published]({entry["URL"]})'
    else:
        origin = f'measured: {entry["Hardware"]}, seed {entry["Seed"]}'
    return [
        f'`{entry["Model"]}`', entry['Dataset'], f'`{entry["Metric"]}`', f'{entry["Value"]}',
        f'± {entry["Tolerance"]}' if 'Tolerance' in entry else '-', origin]


def _results(results: Sequence[dict[str, Any]]) -> str:
    if not results:
        return 'There are no results yet.'
    head = ('model', 'measured on', 'metric', 'value', 'tolerance', 'source')
    commands = dict.fromkeys(entry['Command'].strip() for entry in results if 'Command' in entry)
    blocks = ''.join(f'\n\n```bash\n{command}\n```' for command in commands)
    return table(head, [_result(entry) for entry in results]) + blocks


def task_blocks(folder: Path) -> dict[str, str]:
    """Name of a marker -> text, for the page of a folder of configs."""
    path = folder / 'metafile.yml'
    metafile = yaml.safe_load(path.read_text(encoding='utf-8'))
    head = ('config', 'training data', 'iterations', 'learning rate', 'layer decay', 'clip norm')
    return {
        'models': table(head, [_recipe(model, folder) for model in metafile['Models']]),
        'results': _results(check_results(metafile, path.relative_to(ROOT).as_posix()))}


def _release(release: Release) -> list[str]:
    file = f'[`{release.file.rpartition("/")[2]}`]({release.url})' if release.url else '-'
    config = f'[config](../../{release.config})' if release.config else '-'
    parameters = f'{release.parameters:,}' if release.parameters else '-'
    return [f'`{release.name}`', parameters, file, release.weights_license or 'not released', config]


def zoo_blocks() -> dict[str, str]:
    """Marker of each task -> table of its weights."""
    releases = load_model_index()
    head = ('name', 'parameters', 'file', 'licence of the weights', 'loads into')
    return {task: table(head, [_release(release) for release in releases if release.task == task])
            for task in dict.fromkeys(release.task for release in releases)}


def filled(text: str, blocks: dict[str, str], name: str) -> str:
    """``text`` with what is between the markers of each block replaced.

    Raises:
        MetafileError: if a marker is missing or stands there more than once.
    """
    for marker, block in blocks.items():
        start, end = f'<!-- {marker} -->', f'<!-- /{marker} -->'
        if text.count(start) != 1 or text.count(end) != 1:
            raise MetafileError(f'{name}: needs the lines {start} and {end} once each; add them where the table goes')
        before, rest = text.split(start)
        text = f'{before}{start}\n{block}\n{end}{rest.split(end)[1]}'
    return text


def pages() -> dict[Path, str]:
    """Path of each generated page -> the text that it should have."""
    blocks = {path.parent / 'README.md': task_blocks(path.parent)
              for path in sorted(ROOT.glob('configs/*/metafile.yml'))}
    blocks[ZOO_PAGE] = zoo_blocks()
    return {path: filled(path.read_text(encoding='utf-8'), block, path.relative_to(ROOT).as_posix())
            for path, block in blocks.items()}


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Write the pages or check them; 0: done or nothing differs, 1: pages differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true', help='write nothing, name the pages that differ')
    args = parser.parse_args(argv)
    differing = [(path, text) for path, text in pages().items() if path.read_text(encoding='utf-8') != text]
    for path, text in differing:
        name = path.relative_to(ROOT).as_posix()
        if args.check:
            print(f'{name} is not what its sources say: run python tools/misc/model_pages.py', file=sys.stderr)
        else:
            path.write_text(text, encoding='utf-8')
            print(f'wrote {name}')
    return 1 if args.check and differing else 0


if __name__ == '__main__':
    sys.exit(main())
