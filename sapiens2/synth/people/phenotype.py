"""Who a person is: age, sex, build, proportions, face; and the unposed body that follows from it.

The weights of the phenotype targets are products of linear interpolations, as in `anny` 0.6 and MakeHuman.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapiens2.synth.people.anny_files import VARIATIONS
from sapiens2.synth.people.template import Template

AGE_GROUPS = {'child': (0.17, 0.42), 'teenager': (0.45, 0.58), 'adult': (0.60, 0.85), 'old': (0.86, 1.0)}
_AGE_SHARES = (0.12, 0.1, 0.63, 0.15)
_AXES = ('gender', 'age', 'muscle', 'weight', 'height', 'proportions', 'cupsize', 'firmness')
# 'young' is two thirds of the way from baby to old, as in `anny`.
_AGE_ANCHORS = (0.0, 1 / 3, 2 / 3, 1.0)
# Groups of local changes and the spread of their amounts; faces vary much more than limbs.
_LOCAL_SPREAD = (('head-age', 0.0), ('stomach-pregnant', 0.0), ('head-', 0.22), ('forehead-', 0.25), ('l-eye-', 0.25),
                 ('nose-', 0.3), ('mouth-', 0.22), ('chin-', 0.25), ('l-cheek-', 0.3), ('l-ear-', 0.3),
                 ('eyebrows-', 0.3), ('neck-', 0.12), ('torso-', 0.1), ('hip-', 0.1), ('buttocks-', 0.2),
                 ('stomach-', 0.15), ('l-foot-scale', 0.1), ('l-hand-fingers', 0.15), ('l-upperleg-', 0.12),
                 ('l-lowerleg-', 0.12), ('l-upperarm-', 0.12), ('l-lowerarm-', 0.12))


@dataclass(frozen=True)
class Phenotype:
    """Amounts in [0, 1] of the phenotype axes, and in [-1, 1] of local changes.

    Attributes:
        group: 'child', 'teenager', 'adult' or 'old'.
        axes: 'gender' (0 man, 1 woman), 'age', 'muscle', 'weight', 'height', 'proportions', 'cupsize', 'firmness'.
        race: weights of the three ancestral face and body types of MakeHuman, summing to 1.
        local: local change -> amount.
    """

    group: str
    axes: dict[str, float]
    race: tuple[float, float, float]
    local: dict[str, float] = field(default_factory=dict)

    @property
    def female(self) -> bool:
        """Whether the body is nearer a woman's."""
        return self.axes['gender'] > 0.5

    @property
    def child(self) -> bool:
        """Whether the person is younger than an adult; such people are always fully clothed."""
        return self.group in ('child', 'teenager')


def sample_phenotype(rng: np.random.Generator, template: Template, group: str | None = None) -> Phenotype:
    """Draw a person; ``group`` fixes the age group."""
    if group is None:
        group = str(rng.choice(list(AGE_GROUPS), p=_AGE_SHARES))
    axes = {
        'gender': float(np.clip(rng.choice([0.05, 0.95]) + rng.normal(0, 0.08), 0, 1)),
        'age': float(rng.uniform(*AGE_GROUPS[group])),
        'muscle': float(np.clip(rng.normal(0.5, 0.2), 0.05, 1)),
        'weight': float(np.clip(rng.normal(0.52, 0.2), 0.05, 1)),
        'height': float(np.clip(rng.normal(0.365, 0.068), 0.18, 0.56)),
        'proportions': float(rng.uniform(0.3, 0.9)),
        'cupsize': float(np.clip(rng.normal(0.45, 0.2), 0, 1)),
        'firmness': float(rng.uniform(0.4, 0.8)),
    }
    if group == 'child':
        # Breasts and their firmness are an adult's; a child's body has none.
        axes |= {'cupsize': 0.0, 'firmness': 1.0}
    race = rng.dirichlet([0.45, 0.45, 0.45])
    local = {}
    for prefix, spread in _LOCAL_SPREAD:
        for name in template.locals:
            if name in local or not name.startswith(prefix) or '-trans-out' in name and not name.startswith('l-'):
                continue
            amount = float(np.clip(rng.normal(0, spread), -0.6, 0.6)) if spread else 0.0
            local[name] = amount
            if name.startswith('l-'):
                # The two sides of a body differ a little.
                local['r-' + name[2:]] = amount + (float(rng.normal(0, 0.04)) if spread else 0.0)
    return Phenotype(group, axes, tuple(float(value) for value in race), {k: v for k, v in local.items() if v})


def _interpolation(anchors: np.ndarray, value: float) -> np.ndarray:
    """Weights of the anchors in the linear interpolation at ``value``."""
    return np.asarray([np.interp(value, anchors, row) for row in np.eye(len(anchors))])


def macro_weights(template: Template, phenotype: Phenotype) -> np.ndarray:
    """(M,) weight of each phenotype target."""
    weight = dict(zip(VARIATIONS['race'], phenotype.race))
    for axis in _AXES:
        names = VARIATIONS[axis]
        anchors = _AGE_ANCHORS if axis == 'age' else np.linspace(0, 1, len(names))
        weight |= dict(zip(names, _interpolation(np.asarray(anchors), phenotype.axes[axis])))
    return np.asarray([np.prod([weight[key] for key in keys]) for keys in template.macro_keys], np.float32)


def shape_body(template: Template, phenotype: Phenotype, actions: dict[str, float]) -> np.ndarray:
    """(V, 3) float32: the unposed body of ``phenotype`` with the facial ``actions`` (name -> amount) applied."""
    weights = macro_weights(template, phenotype)
    vertices = template.vertices.astype(np.float32)
    for index in np.flatnonzero(weights > 1e-4):
        vertices += weights[index] * template.macro[index]
    # Targets of the face are made for a grown head; smaller heads take smaller ones.
    head = np.ptp(vertices[template.groups['joint-head'].ravel(), 1]) / np.ptp(
        template.vertices[template.groups['joint-head'].ravel(), 1])
    signed = [(name + ('+' if amount > 0 else '-'), abs(amount)) for name, amount in phenotype.local.items()]
    for name, amount in signed + list(actions.items()):
        index, offset = template.sparse[name]
        vertices[index] += np.float32(amount * (head if name in actions else 1.0)) * offset
    return vertices
