"""What a person wears: drawn from kinds of clothes with their cuts, fits and fabrics."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.people import footwear, garments
from sapiens2.synth.people.garments import Cut, Fit
from sapiens2.synth.people.palette import leather, plain
from sapiens2.synth.people.parts import label_of
from sapiens2.synth.people.phenotype import Phenotype
from sapiens2.synth.people.wardrobe import Wardrobe

# Height of the waist on the template.
WAIST = 0.105
_SHIRT_PATTERNS = {'plain': 5, 'stripes': 2, 'checks': 1, 'dots': 0.6, 'print': 1, 'camouflage': 0.2}
_TROUSER_PATTERNS = {'plain': 5, 'denim': 4, 'checks': 0.5, 'camouflage': 0.3, 'stripes': 0.3}


def _draw_upper(rng: np.random.Generator, phenotype: Phenotype) -> str:
    """Kind of upper clothing; only grown men bare their chests, and only as for swimming or sports."""
    grown = not phenotype.child
    shares = {'tshirt': 5, 'long sleeve': 2, 'tank top': 1.2, 'shirt': 2, 'sweater': 2,
              'crop top': 0.8 * (grown and phenotype.female), 'bare chest': 0.6 * (grown and not phenotype.female)}
    weights = np.asarray(list(shares.values()))
    return str(rng.choice(list(shares), p=weights / weights.sum()))


def _upper(wardrobe: Wardrobe, phenotype: Phenotype, kind: str, tucked: bool, hem_height: float) -> None:
    rng = wardrobe.rng
    neck = str(rng.choice(['crew', 'scoop', 'vee'], p=[0.55, 0.25, 0.2]))
    depth = float(rng.uniform(0.02, 0.07)) if not phenotype.child else 0.015
    patterns, fit = _SHIRT_PATTERNS, Fit(0.006 if tucked else 0.014, float(rng.uniform(0.006, 0.03)),
                                         float(rng.uniform(0.002, 0.0045)))
    sleeve = float({
        'tshirt': rng.uniform(0.4, 0.85),
        'long sleeve': rng.uniform(1.4, 1.92),
        'tank top': 0.02,
        'shirt': rng.choice([0.75, 1.9]),
        'sweater': 1.9,
        'crop top': rng.uniform(0.1, 0.6)
    }[kind])
    bottom = WAIST - 0.03 if tucked else hem_height
    if kind == 'tank top':
        neck, depth = 'straps', float(rng.uniform(0.0, 0.015) if phenotype.child else rng.uniform(0.02, 0.06))
    elif kind == 'crop top':
        bottom = float(rng.uniform(0.15, 0.22))
    elif kind == 'sweater':
        neck, patterns = str(rng.choice(['crew', 'high'])), {'knit': 3, 'plain': 2, 'stripes': 1}
        fit = Fit(0.012, float(rng.uniform(0.01, 0.025)), 0.003, 0.006)
    elif kind == 'shirt':
        neck, depth, patterns = 'vee', float(rng.uniform(0.0, 0.05)), {
            'plain': 4,
            'checks': 3,
            'stripes': 2,
            'print': 0.5
        }
    material = wardrobe.fabric(patterns)
    wardrobe.wear(kind, Cut(bottom=bottom, sleeve=sleeve, leg=0.45, neck=neck, depth=depth), fit, 'Upper_Clothing',
                  material)
    if kind == 'shirt':
        wardrobe.parts.append(
            garments.collar(wardrobe.suit, wardrobe.surfaces.suit.place, label_of('Upper_Clothing'), material,
                            1.3 * fit.gap + 0.4 * fit.loose))


def _jacket(wardrobe: Wardrobe) -> None:
    rng = wardrobe.rng
    open_front = float(rng.uniform(0.02, 0.06)) if rng.random() < 0.6 else 0.0
    patterns = {'plain': 5, 'denim': 1.5, 'camouflage': 0.3, 'checks': 0.4}
    material = wardrobe.material(leather(rng)) if rng.random() < 0.2 else wardrobe.fabric(patterns)
    cut = Cut(bottom=float(rng.uniform(0.0, 0.06)),
              sleeve=1.95,
              leg=0.45,
              neck='vee' if open_front else 'high',
              depth=0.05,
              open_front=open_front)
    # Nobody sees a shirt deep under a jacket, and it cannot come through the cloth there.
    wardrobe.hide_under(cut.field, 0.035)
    wardrobe.wear('jacket', cut, Fit(0.026, float(rng.uniform(0.015, 0.03)), float(rng.uniform(0.003, 0.006)), 0.008),
                  'Upper_Clothing', material)
    wardrobe.parts.append(
        garments.collar(wardrobe.suit, wardrobe.surfaces.suit.place, label_of('Upper_Clothing'), material, 0.036))


def _trousers(wardrobe: Wardrobe, tucked: bool, shown_below: float, shaft: float, short: bool) -> None:
    rng = wardrobe.rng
    kind = 'shorts' if short else str(
        rng.choice(['trousers', 'shorts', 'cropped trousers', 'leggings'], p=[0.6, 0.24, 0.08, 0.08]))
    leg = float({
        'trousers': rng.uniform(1.84, 1.97),
        'shorts': rng.uniform(0.3, 0.95),
        'cropped trousers': rng.uniform(1.2, 1.7),
        'leggings': 1.9
    }[kind])
    # Long trousers go into boots.
    leg = min(leg, shaft + 0.12)
    loose = 0.001 if kind == 'leggings' else float(rng.uniform(0.004, 0.025))
    fit = Fit(0.0045 if kind == 'leggings' else 0.006, loose,
              0.0005 if kind == 'leggings' else float(rng.uniform(0.002, 0.0045)))
    if tucked:
        fit = Fit(fit.gap + 0.009, fit.loose, fit.wrinkle)
    material = wardrobe.fabric({'plain': 1} if kind == 'leggings' else _TROUSER_PATTERNS, tight=kind == 'leggings')
    wardrobe.wear(kind, Cut(top=WAIST, leg=leg), fit, 'Lower_Clothing', material, below=shown_below, hanging=False)


def _skirt(wardrobe: Wardrobe, label: str, material: int, name: str, tucked: bool, top: float = 0.11) -> None:
    rng = wardrobe.rng
    bottom = float(rng.uniform(-0.62, -0.2))
    fit = Fit(0.012 if tucked else 0.004, 0.004, 0.002)
    wardrobe.parts.append(
        garments.cut_skirt(wardrobe.surfaces, wardrobe.vertices, bottom, top, float(rng.uniform(0.8, 1.35)), fit, rng,
                           label_of(label), material))
    wardrobe.names.append(name)
    # Below a skirt hang its wearer's legs; only what nobody can see from outside is left out.
    wardrobe.covers.append(lambda place: np.where(
        place.arms < 0.05, np.minimum(WAIST - place.base[:, 1], place.base[:, 1] - bottom - 0.12), -1.0))
    # Shorts below, so that nobody is bare under a skirt.
    wardrobe.wear('underwear',
                  Cut(top=min(WAIST, top) - 0.03, leg=0.22),
                  Fit(0.003, 0.0, 0.0, 0.002),
                  label,
                  material,
                  hanging=False)


def _draw_footwear(rng: np.random.Generator) -> tuple[str, float]:
    """Kind of footwear, and the place along the leg up to which it reaches."""
    kind = str(rng.choice(['sneakers', 'shoes', 'boots', 'socks only', 'barefoot'], p=[0.42, 0.16, 0.14, 0.08, 0.2]))
    return kind, {
        'sneakers': float(rng.choice([1.93, 1.86])),
        'shoes': 1.95,
        'boots': float(rng.uniform(1.45, 1.8))
    }.get(kind, 2.0)


def _footwear(wardrobe: Wardrobe, kind: str, height: float) -> None:
    rng = wardrobe.rng
    wardrobe.names.append(kind)
    if kind == 'barefoot':
        return
    sock_height = float(rng.uniform(1.45, 1.86))
    if kind == 'socks only' or rng.random() < 0.7:
        material = wardrobe.fabric({'plain': 4, 'knit': 2, 'stripes': 1})
        wardrobe.names.append('socks')
        for side in 'LR':
            wardrobe.parts.append(
                footwear.sock(wardrobe.suit, wardrobe.surfaces.suit.place, side, sock_height, 0.0025, material))
            wardrobe.covers.append(lambda place, side=side: footwear.foot_field(place, side, sock_height))
    if kind == 'socks only':
        return
    of_leather = kind != 'sneakers' or rng.random() < 0.3
    material = wardrobe.material(leather(rng)) if of_leather else wardrobe.fabric({'plain': 1})
    light = kind == 'sneakers' and rng.random() < 0.7
    sole = wardrobe.material(plain(rng, 'rubber', np.full(3, rng.uniform(0.5, 0.75) if light else 0.015), 0.7))
    thickness = float(rng.uniform(0.008, 0.03))
    for side in 'LR':
        wardrobe.parts.append(
            footwear.shoe(wardrobe.suit, wardrobe.surfaces.suit.place, side, height, thickness, material, sole, rng))
        wardrobe.covers.append(lambda place, side=side: footwear.foot_field(place, side, height))


def dress(wardrobe: Wardrobe, phenotype: Phenotype) -> None:
    """Put clothes on: lower and upper clothing, maybe a jacket, something or nothing on the feet."""
    rng = wardrobe.rng
    shoes, shaft = _draw_footwear(rng)
    if phenotype.female and rng.random() < 0.2:
        material = wardrobe.fabric({'plain': 3, 'print': 2, 'dots': 1, 'stripes': 1, 'checks': 0.5})
        _skirt(wardrobe, 'Upper_Clothing', material, 'dress', False)
        neck = 'straps' if rng.random() < 0.3 and not phenotype.child else str(rng.choice(['crew', 'scoop', 'vee']))
        sleeve = 0.02 if neck == 'straps' else float(rng.uniform(0.1, 1.9))
        depth = float(rng.uniform(0.01, 0.02 if phenotype.child else 0.06))
        wardrobe.wear('bodice',
                      Cut(bottom=0.095, sleeve=sleeve, neck=neck, depth=depth),
                      Fit(0.006, 0.003, 0.0015),
                      'Upper_Clothing',
                      material,
                      hanging=False)
    else:
        tucked = wardrobe.tucked = rng.random() < 0.3
        hem_height = float(rng.uniform(0.01, 0.085))
        upper = _draw_upper(rng, phenotype)
        # What a shirt hides of trousers cannot come through it; nothing hides them under a short top or none.
        bare = upper == 'bare chest'
        shown_below = 1.0 if tucked or bare or upper == 'crop top' else hem_height + 0.035
        if bare and shoes != 'sneakers':
            shoes = 'barefoot'
        if phenotype.female and rng.random() < 0.25:
            _skirt(wardrobe, 'Lower_Clothing', wardrobe.fabric({
                'plain': 4,
                'checks': 1.5,
                'print': 1,
                'denim': 1
            }), 'skirt', tucked, min(0.11, shown_below))
        else:
            _trousers(wardrobe, tucked, shown_below, shaft if shoes == 'boots' else 2.0, bare)
        if bare:
            wardrobe.names.append(upper)
        else:
            _upper(wardrobe, phenotype, upper, tucked, hem_height)
    if 'bare chest' not in wardrobe.names and rng.random() < 0.22:
        _jacket(wardrobe)
    _footwear(wardrobe, shoes, shaft)
