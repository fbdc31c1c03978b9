"""Fit the coefficients of the stage ``Realism``, and say how often it is right.

    sapiens2 synth --num 600 --size 512 384 --out data/synth
    python benchmarks/curation_realism.py --data data/synth [--photographs FOLDER]

Photographs are stood for by generated people, which pass a model of a camera; drawings are made of them: flat colours
with outlines from their labels, posterised and smoothed pictures, and charts. Every other sample is for fitting, the
others for the figures. ``FOLDER`` is measured too, if there are photographs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np

from sapiens2.curation.stages.realism import FIGURES, figures_of
from sapiens2.utils.image_list import list_images

_STEPS, _DECAY = 4000, 1e-3


def flat_drawing(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each class in a colour of its own, with outlines."""
    colours = rng.integers(0, 256, (256, 3), dtype=np.uint8)
    picture = colours[labels]
    edges = cv2.morphologyEx(labels, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0
    picture[edges] = 0
    return picture


def posterised(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Smoothed within edges, in few steps of light, with dark lines."""
    smooth = picture
    for _ in range(3):
        smooth = cv2.bilateralFilter(smooth, 9, 60, 9)
    step = int(rng.integers(24, 64))
    lines = cv2.adaptiveThreshold(cv2.cvtColor(smooth, cv2.COLOR_BGR2GRAY), 255, cv2.ADAPTIVE_THRESH_MEAN_C,
                                  cv2.THRESH_BINARY, 9, 6)
    return cv2.bitwise_and((smooth // step * step + step // 2).astype(np.uint8), cv2.merge([lines] * 3))


def chart(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Bars, lines and words on white."""
    picture = np.full((*size, 3), 255, dtype=np.uint8)
    for number in range(int(rng.integers(4, 12))):
        x = 20 + number * size[1] // 12
        colour = rng.integers(0, 256, 3).tolist()
        cv2.rectangle(picture, (x, size[0] - 20), (x + size[1] // 16, int(rng.integers(20, size[0] - 40))), colour, -1)
    points = np.column_stack((np.linspace(10, size[1] - 10, 12), rng.integers(20, size[0] - 20, 12))).astype(np.int32)
    cv2.polylines(picture, [points], False, rng.integers(0, 200, 3).tolist(), 2, cv2.LINE_AA)
    cv2.putText(picture, 'units sold', (20, 30), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2, cv2.LINE_AA)
    return picture


def compressed(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As it comes from the web."""
    quality = int(rng.integers(60, 98))
    return cv2.imdecode(cv2.imencode('.jpg', picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)


def fit(figures: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression of standardised figures, by gradient descent."""
    weights, bias = np.zeros(figures.shape[1]), 0.0
    for _ in range(_STEPS):
        error = 1 / (1 + np.exp(-np.clip(figures @ weights + bias, -30, 30))) - truth
        weights -= 0.5 * (figures.T @ error / len(truth) + _DECAY * weights)
        bias -= 0.5 * error.mean()
    return weights, float(bias)


def main() -> None:
    """Fit and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', type=Path, required=True, help='folder of sapiens2 synth')
    parser.add_argument('--photographs', type=Path, help='folder of real ones, to measure only')
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    kinds: dict[str, list[np.ndarray]] = {'generated': [], 'flat drawing': [], 'posterised': [], 'chart': []}
    for path in sorted((args.data / 'train/images').iterdir()):
        picture = cv2.imread(str(path))
        labels = cv2.imread(str(args.data / 'train/labels' / f'{path.stem}.png'), cv2.IMREAD_UNCHANGED)
        for kind, drawn in (('generated', picture), ('flat drawing', flat_drawing(labels, rng)),
                            ('posterised', posterised(picture, rng)), ('chart', chart(picture.shape[:2], rng))):
            kinds[kind].append(figures_of(drawn if kind == 'generated' else compressed(drawn, rng)))
    figures = np.concatenate([np.array(rows) for rows in kinds.values()])
    truth = np.concatenate([np.full(len(rows), kind == 'generated', float) for kind, rows in kinds.items()])
    means, scales = figures[::2].mean(axis=0), figures[::2].std(axis=0)
    weights = np.where(truth[::2] == 1, 3.0, 1.0)  # three kinds of drawings against one of photographs
    rows = np.repeat(np.arange(len(figures))[::2], weights.astype(int))
    fitted, bias = fit((figures[rows] - means) / scales, truth[rows])
    print('FIGURES =', FIGURES)
    for name, values in (('MEANS', means), ('SCALES', scales), ('WEIGHTS', fitted)):
        print(name, '=', tuple(np.round(values, 4).tolist()))
    print('BIAS =', round(bias, 4))

    def real(values: np.ndarray) -> np.ndarray:
        return (values - means) / scales @ fitted + bias > 0

    for kind, values in kinds.items():
        held = np.array(values)[1::2]
        print(f'{kind}: {len(held)} held out, called photographs {real(held).mean():.1%}')
    if args.photographs:
        held = np.array([figures_of(cv2.imread(str(file.path))) for file in list_images([args.photographs])])
        print(f'photographs: {len(held)}, called photographs {real(held).mean():.1%}')


if __name__ == '__main__':
    main()
