"""Probe several backbones on one data set: everything that was computed is kept and found again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Optional

from rich.console import Console

from sapiens2.evaluation.probes.backbones import PIXELS, BackboneSpec, FeatureModel, build_backbone, parse_backbone
from sapiens2.evaluation.probes.classify import Labels, label_sets, why_none
from sapiens2.evaluation.probes.extract import feature_store, key_of, slug
from sapiens2.evaluation.probes.gallery import Seen, galleries
from sapiens2.evaluation.probes.ground_truth import GroundTruth, target_store
from sapiens2.evaluation.probes.images import ProbeData, open_data
from sapiens2.evaluation.probes.measure import Measured, measure_classes, measure_dense
from sapiens2.evaluation.probes.options import ProbeOptions
from sapiens2.evaluation.probes.report import TRIVIAL, console_table, html
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.utils.atomic import atomic_path, check_folder
from sapiens2.utils.choices import CLASS_PROBES, FIELD_OF_PROBE, PICTURES

# Raised when the same features would give other figures.
_FORMAT = 1
METRICS, REPORT = 'metrics.json', 'report.html'


@dataclass(frozen=True)
class Machine:
    """Where and how features are computed; see ``build_backbone`` and ``feature_store``."""

    device: str = 'auto'
    dtype: str = 'auto'
    batch_size: Optional[int] = None
    workers: int = 0


def probe(backbones: Sequence[str], data: str | Path, out: str | Path, options: ProbeOptions = ProbeOptions(),
          machine: Machine = Machine(), console: Optional[Console] = None) -> dict[str, dict[str, float]]:
    """Measure what frozen backbones tell of the pictures of a folder.

    Features, ground truth at the patches and figures lie in ``out`` under names that hold a hash of the weights, the
    pictures and the options: a run that was stopped goes on, and one that only adds a backbone computes no other.
    ``metrics.json`` and ``report.html`` are those of the last run.

    Args:
        backbones: see ``parse_backbone``.
        data: see ``open_data``.
        out: folder for results.

    Returns:
        Figures by backbone, 'trivial' first.

    Raises:
        ValueError: for an unknown backbone or probe, or two backbones of one name.
        DataError: of the data.
    """
    out, console = Path(out), console or Console(stderr=True)
    check_folder(out)
    specs = _parse(backbones)
    found = open_data(data, options.seed)
    sets = label_sets(found)
    no_labels = '' if sets else why_none(found)
    probes = options.chosen(found.fields, no_labels)
    if no_labels and options.probes is None:
        console.print(f'left out: {", ".join(CLASS_PROBES)}. The data have {no_labels}', highlight=False, markup=False,
                      soft_wrap=True)
    run = _Run(_needed(found, probes), sets, probes, options, machine, out, console)
    for spec in specs:
        run.add(spec, options.size)
    if options.baselines:
        size = run.seen[specs[0].label].size
        for spec in _baselines(specs):
            run.add(spec, size)
    shown = galleries(run.seen, run.data, options.shown, options.pool, run.with_patches, out / 'pictures') \
        if PICTURES in probes else {}
    _write(out / METRICS, json.dumps(
        {'options': asdict(options), 'about': run.about, 'figures': run.results}, indent=2))
    _write(out / REPORT, html(run.results, run.about, run.data, sets, options, shown))
    console.print(console_table(run.results), highlight=False, markup=False, soft_wrap=True)
    return run.results


class _Run:
    """The backbones of one run, one after another; a network is in memory only while it computes."""

    def __init__(self, data: ProbeData, sets: Sequence[Labels], probes: Sequence[str], options: ProbeOptions,
                 machine: Machine, out: Path, console: Console) -> None:
        self.data, self.sets, self.probes, self.options = data, sets, probes, options
        self.machine, self.out, self.console = machine, out, console
        self.results: dict[str, dict[str, float]] = {TRIVIAL: {}}
        self.about: dict[str, str] = {}
        self.seen: dict[str, Seen] = {}
        self.dense_probes = [name for name in FIELD_OF_PROBE if name in probes]
        self.with_patches = bool(self.dense_probes) or PICTURES in probes

    def add(self, spec: BackboneSpec, size: Optional[tuple[int, int]]) -> None:
        """Measure a backbone, unless its figures are there."""
        model = build_backbone(spec, size, self.machine.device, self.machine.dtype, self.options.seed)
        store = feature_store(
            self.out / 'features', model, [image.path for image in self.data.images], self.data.fingerprint(),
            self.with_patches, self.console, self.machine.batch_size, self.machine.workers)
        self.about[spec.label] = _describe(spec, model)
        self.seen[spec.label] = seen = Seen(store, model.size, model.grid)
        asked = {name: value for name, value in asdict(self.options).items()
                 if name not in ('probes', 'size', 'shown', 'baselines')}
        known = dict(format=_FORMAT, features=store.folder.parent.name, truth=self.data.truth_fingerprint(),
                     attributes=[dict(image.attributes) for image in self.data.images], probes=self.probes, **asked)
        file = self.out / 'figures' / f'{slug(spec.label)}-{key_of(known)}.json'
        if not file.exists():
            _write(file, json.dumps(asdict(self._measure(spec.label, seen)), indent=2))
        measured = Measured(**json.loads(file.read_text(encoding='utf-8')))
        self.results[TRIVIAL] = self.results[TRIVIAL] or measured.trivial
        self.results[spec.label] = measured.figures

    def _measure(self, label: str, seen: Seen) -> Measured:
        figures, trivial = {}, {}
        parts = []
        if any(name in self.probes for name in CLASS_PROBES):
            parts.append(measure_classes(seen.store.whole(self.options.pool), self.data, self.sets, self.probes,
                                         self.options, self.console, f'{label}: attributes'))
        if self.dense_probes:
            truth = GroundTruth(self.data, seen.size)
            targets = target_store(self.out / 'features', self.data, truth, seen.size, seen.grid, self.options.cells,
                                   self.console, self.machine.workers)
            parts.append(measure_dense(seen.store, targets, truth, self.probes, self.options, self.console, label))
        for part in parts:
            figures |= part.figures
            trivial |= part.trivial
        return Measured(figures, trivial)


def _parse(backbones: Sequence[str]) -> list[BackboneSpec]:
    specs = [parse_backbone(text) for text in backbones]
    labels = [spec.label for spec in specs]
    for label in labels:
        if labels.count(label) > 1 or label == TRIVIAL:
            raise ValueError(f'two rows of the report would be called {label}; name the backbones: NAME={backbones[0]}')
    return specs


def _baselines(specs: Sequence[BackboneSpec]) -> list[BackboneSpec]:
    """Pixels, and the first backbone untrained, unless they are there."""
    found = [] if any(spec.config is None for spec in specs) else [parse_backbone(PIXELS)]
    if all(spec.weights != RANDOM for spec in specs):
        found.append(specs[0].untrained())
    return found


def _needed(data: ProbeData, probes: Sequence[str]) -> ProbeData:
    """The data with the ground truth that the probes use, and the mask, which says where it is valid."""
    fields = tuple(name for name in data.fields
                   if name == 'mask' or name in [FIELD_OF_PROBE[probe] for probe in FIELD_OF_PROBE if probe in probes])
    images = tuple(replace(image, field_paths={name: image.field_paths[name] for name in fields})
                   for image in data.images)
    return replace(data, images=images, fields=fields)


def _describe(spec: BackboneSpec, model: FeatureModel) -> str:
    """What the report says of a backbone."""
    if spec.config is None:
        return 'no network: the pixels of each patch, and a small copy of the picture'
    name = spec.config.get('model_name') or spec.config.get('arch')
    weights = 'random weights' if spec.weights == RANDOM else f'weights {spec.weights or "of timm"}'
    token = '' if model.has_class_token else ', no class token: the mean of the patches stands for it'
    return (f'{spec.config["type"]} {name if isinstance(name, str) else "of its own widths"}, {weights}, '
            f'{model.size[0]}x{model.size[1]}, {str(model.dtype).removeprefix("torch.")}{token}')


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as partial:
        partial.write_text(text, encoding='utf-8')
