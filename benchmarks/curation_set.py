"""Build a folder of pictures of which is known what curation should do with each; ``curation_end_to_end.py`` uses it.

Generated people (``sapiens2 synth``) are what should be kept, if one of them is large enough. Everything else is made
of them or from nothing: drawings, landscapes, pictures under text, copies, damaged files, and pictures that are too
small, too long, blurred, burnt out or of one colour. The photographs without people are parts of those that come with
scikit-image. What a picture is follows from how it was made; nothing is measured on the result.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

import cv2
import numpy as np
from curation_realism import chart, flat_drawing, posterised
from PIL import Image

from sapiens2.utils.atomic import atomic_path

LABELS = 'labels.json'
# Pictures of each kind, for 1,000 generated ones.
SHARES = {
    'flat drawing': 80, 'posterised': 80, 'line drawing': 80, 'chart': 40, 'shapes': 40,
    'landscape': 200, 'photograph without people': 60,
    'subtitle': 80, 'watermark': 80, 'meme': 80, 'page': 40,
    'equal file': 50, 'resized': 100, 'recompressed': 100, 'cropped': 100, 'mirrored': 100,
    'cut off': 50, 'no bytes': 20, 'no picture': 20, 'damaged': 30, 'bomb': 10, 'animated': 25, 'wrong suffix': 25,
    'too small': 50, 'too long': 50, 'blurred': 50, 'burnt out': 50, 'one colour': 30}
COPIES = ('equal file', 'resized', 'recompressed', 'cropped', 'mirrored')
DRAWINGS = ('flat drawing', 'posterised', 'line drawing', 'chart', 'shapes')
TEXTS = ('subtitle', 'watermark', 'meme', 'page')
EMPTY = ('landscape', 'photograph without people')
BROKEN = ('cut off', 'no bytes', 'no picture', 'damaged', 'bomb')
# Kinds whose pictures are those of a generated one, people included, with one fault or none.
AS_GENERATED = ('generated', *COPIES, 'animated', 'wrong suffix')
_PHOTOGRAPHS = ('brick.png', 'chelsea.png', 'coffee.png', 'coins.png', 'grass.png', 'gravel.png',
                'hubble_deep_field.jpg', 'ihc.png', 'moon.png', 'motorcycle_left.png', 'retina.jpg', 'rocket.jpg')
_WORDS = ('the quick brown fox', 'LIMITED OFFER', 'www.example.com', 'NOBODY EXPECTS IT', 'chapter one', 'SAMPLE',
          'when it rains', 'copyright 2026', 'subscribe now', 'and then he said')


@dataclass(frozen=True)
class Label:
    """What is known of a picture by the way it was made.

    Attributes:
        name: of the file.
        kind: one of ``SHARES``, or 'generated'.
        origin: number of the generated picture that it is made of; -1 without.
        side: the largest of the shorter sides of its people's boxes, pixels; 0 without people, None if not known.
    """

    name: str
    kind: str
    origin: int
    side: Optional[float]


@dataclass(frozen=True)
class Original:
    """A generated picture."""

    number: int
    content: bytes
    labels: np.ndarray
    side: float

    @property
    def picture(self) -> np.ndarray:
        """(H, W, 3) uint8 BGR."""
        return cv2.imdecode(np.frombuffer(self.content, np.uint8), cv2.IMREAD_COLOR)


def build(synth: Path, out: Path, most: Optional[int] = None, seed: int = 0) -> list[Label]:
    """Write the pictures to ``out / 'images'``, or take what is there, and give their labels.

    Args:
        synth: folder of generated people.
        out: folder to write to.
        most: of the generated pictures to take; None takes all.
        seed: of everything that is drawn at random.
    """
    path = out / LABELS
    if not path.exists():
        labels = [_written(out / 'images', *made) for made in _pictures(synth, most, seed)]
        with atomic_path(path) as partial:
            partial.write_text(json.dumps([asdict(label) for label in labels]), encoding='utf-8')
    return [Label(**row) for row in json.loads(path.read_text(encoding='utf-8'))]


def _written(folder: Path, label: Label, content: bytes) -> Label:
    with atomic_path(folder / label.name) as partial:
        partial.write_bytes(content)
    return label


def _pictures(synth: Path, most: Optional[int], seed: int) -> Iterator[tuple[Label, bytes]]:
    originals = _originals(synth, most)
    for original in originals:
        yield Label(f'generated-{original.number:06d}.jpg', 'generated', original.number, original.side), \
            original.content
    for kind_number, (kind, share) in enumerate(SHARES.items()):
        count = round(share * len(originals) / 1000)
        # Any originals, each once; copies of one kind are of one original each.
        chosen = np.random.default_rng([seed, kind_number]).permutation(len(originals))
        for number in range(count):
            rng = np.random.default_rng([seed, kind_number, number])
            original = originals[chosen[number % len(originals)]]
            made = _made(kind, original, number, rng)
            if made is None:
                continue
            ending, content = made
            from_nothing = kind in (*EMPTY, 'chart', 'shapes', 'one colour', 'no bytes', 'no picture', 'bomb')
            side = original.side if kind in AS_GENERATED else 0.0 if kind in EMPTY else None
            yield Label(f'{kind.replace(" ", "_")}-{number:06d}.{ending}', kind,
                        -1 if from_nothing else original.number, side), content


def _originals(synth: Path, most: Optional[int]) -> list[Original]:
    found = []
    for image in sorted(synth.glob('*/images/*.jpg'), key=lambda path: path.stem)[:most]:
        folder = image.parents[1]
        people = json.loads((folder / 'people' / f'{image.stem}.json').read_text(encoding='utf-8'))['people']
        labels = cv2.imread(str(folder / 'labels' / f'{image.stem}.png'), cv2.IMREAD_UNCHANGED)
        found.append(Original(int(image.stem), image.read_bytes(), labels,
                              max((min(person['bbox'][2:]) for person in people), default=0.0)))
    if not found:
        raise SystemExit(f'{synth}: no generated people there; make some with sapiens2 synth')
    return found


def _made(kind: str, original: Original, number: int, rng: np.random.Generator) -> Optional[tuple[str, bytes]]:
    """Ending and content of a file; None if there are no more pictures of this kind."""
    size = original.labels.shape[:2]
    if kind in DRAWINGS:
        maker: dict[str, Callable[[], np.ndarray]] = {
            'flat drawing': lambda: flat_drawing(original.labels, rng),
            'posterised': lambda: posterised(original.picture, rng),
            'line drawing': lambda: _line_drawing(original.picture), 'chart': lambda: chart(size, rng),
            'shapes': lambda: _shapes(size, rng)}
        return ('png', _png(maker[kind]())) if rng.random() < 0.5 else ('jpg', _jpeg(maker[kind](), rng))
    if kind == 'landscape':
        return 'jpg', _jpeg(_landscape(size, rng), rng)
    if kind == 'photograph without people':
        part = _photograph(size, number)
        return None if part is None else ('jpg', _jpeg(part, rng))
    if kind in TEXTS:
        return 'jpg', _jpeg(_under_text(kind, original.picture, rng), rng)
    if kind in COPIES:
        return _copy(kind, original, rng)
    if kind in (*BROKEN, 'animated', 'wrong suffix'):
        return _file(kind, original, rng)
    return 'jpg', _jpeg(_faulty(kind, original.picture, rng), rng)


def _jpeg(picture: np.ndarray, rng: np.random.Generator) -> bytes:
    return cv2.imencode('.jpg', picture, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(70, 97))])[1].tobytes()


def _png(picture: np.ndarray) -> bytes:
    return cv2.imencode('.png', picture)[1].tobytes()


def _line_drawing(picture: np.ndarray) -> np.ndarray:
    """Dark lines where a picture has edges, on white."""
    edges = cv2.Canny(cv2.GaussianBlur(picture, (0, 0), 1), 60, 140)
    return cv2.cvtColor(255 - cv2.dilate(edges, np.ones((2, 2), np.uint8)), cv2.COLOR_GRAY2BGR)


def _shapes(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Discs and triangles of one colour each, as in pictures for children."""
    picture = np.full((*size, 3), rng.integers(0, 256, 3), dtype=np.uint8)
    for _ in range(int(rng.integers(5, 20))):
        colour, centre = rng.integers(0, 256, 3).tolist(), rng.integers(0, size[::-1])
        if rng.random() < 0.5:
            cv2.circle(picture, centre.tolist(), int(rng.integers(8, 50)), colour, -1, cv2.LINE_AA)
        else:
            points = (centre + rng.integers(-50, 50, (3, 2))).astype(np.int32)
            cv2.fillPoly(picture, [points], colour, cv2.LINE_AA)
            cv2.polylines(picture, [points], True, (0, 0, 0), 2, cv2.LINE_AA)
    return picture


def _noise(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """(H, W) float32, mean 0: each octave has half the amplitude of the one before."""
    octaves = [cv2.resize(rng.standard_normal((2 + 2**n, 2 + 2**n)).astype(np.float32), size[::-1],
                          interpolation=cv2.INTER_CUBIC) / 2**n for n in range(1, 7)]
    return sum(octaves)


def _landscape(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """A sky with clouds over several ridges, each in its own colour, and the noise of a camera."""
    height, width = size
    rows = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    sky = (1 - rows) * rng.uniform([140, 90, 30], [255, 180, 140]) + rows * rng.uniform(150, 255, 3)
    picture = sky + 25 * np.maximum(_noise(size, rng), 0)[..., None]
    ground, base = _noise(size, rng), rng.uniform([20, 50, 30], [110, 140, 120])
    ridges = int(rng.integers(1, 5))
    for ridge in range(ridges):
        top = (0.3 + 0.6 * (ridge + rng.random()) / ridges) * height + 0.12 * height * _noise((8, width), rng)[0]
        colour = base * (0.5 + 0.5 * (ridge + 1) / ridges) + 12 * (ridges - ridge - 1)
        inside = np.arange(height)[:, None] > top
        picture[inside] = (colour + 30 * ground[..., None])[inside]
    return np.clip(picture + rng.normal(0, rng.uniform(1, 6), picture.shape), 0, 255).astype(np.uint8)


def _photograph(size: tuple[int, int], number: int) -> Optional[np.ndarray]:
    """Part ``number`` of photographs that come with scikit-image; parts do not overlap."""
    import skimage.data

    folder = Path(skimage.data.__file__).parent
    for name in _PHOTOGRAPHS:
        picture = cv2.imread(str(folder / name)) if (folder / name).is_file() else None
        if picture is None:
            continue
        rows, columns = (max(whole // part, 1) for whole, part in zip(picture.shape, size))
        if number < rows * columns:
            top, left = number // columns * size[0], number % columns * size[1]
            return picture[top:top + size[0], left:left + size[1]]
        number -= rows * columns
    return None


def _under_text(kind: str, picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Words of a height of at least 5 % of the shorter side, or 4 % on a page."""
    height, width = picture.shape[:2]
    picture = picture.copy()

    def put(text: str, row: float, tall: float, colour: int, outline: bool = False) -> None:
        scale = tall * min(height, width) / 22
        wide = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)[0][0]
        scale *= min(1.0, 0.95 * width / wide)
        wide = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)[0][0]
        place = ((width - wide) // 2, round(row * height))
        if outline:
            cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, scale, (0, 0, 0), 3, cv2.LINE_AA)
        cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, scale, (colour, ) * 3, 1, cv2.LINE_AA)

    words = [str(word) for word in rng.permutation(_WORDS)]
    if kind == 'subtitle':
        for line in range(int(rng.integers(1, 3))):
            put(words[line], 0.85 + 0.09 * line, 0.07, 255, outline=True)
    elif kind == 'watermark':
        before = picture.copy()
        for line in range(int(rng.integers(3, 6))):
            put(words[line], 0.15 + 0.17 * line, 0.09, 255)
        picture = cv2.addWeighted(picture, 0.7, before, 0.3, 0)
    elif kind == 'meme':
        for row in (0.12, 0.95):
            put(words[int(row > 0.5)].upper(), row, 0.1, 255, outline=True)
    else:
        picture[:] = 245
        for line in range(12):
            put(words[line % len(words)], 0.08 + 0.075 * line, 0.05, 20)
    return picture


def _copy(kind: str, original: Original, rng: np.random.Generator) -> tuple[str, bytes]:
    picture = original.picture
    height, width = picture.shape[:2]
    if kind == 'equal file':
        return 'jpg', original.content
    if kind == 'resized':
        return 'jpg', _jpeg(cv2.resize(picture, None, fx=(scale := rng.uniform(0.55, 1.6)), fy=scale,
                                       interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC), rng)
    if kind == 'recompressed':
        return 'jpg', cv2.imencode('.jpg', picture, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(25, 70))])[1].tobytes()
    if kind == 'mirrored':
        return 'jpg', _jpeg(picture[:, ::-1], rng)
    # Up to 5 % of each side goes, somehow shared by its two ends.
    lost = (rng.uniform(0.01, 0.05, 2) * (height, width)).astype(int)
    top, left = (int(rng.integers(0, pixels + 1)) for pixels in lost)
    return 'jpg', _jpeg(picture[top:top + height - lost[0], left:left + width - lost[1]], rng)


def _file(kind: str, original: Original, rng: np.random.Generator) -> tuple[str, bytes]:
    if kind == 'no bytes':
        return 'jpg', b''
    if kind == 'no picture':
        return 'jpg', b'<!DOCTYPE html><html><body>404 Not Found</body></html>'
    if kind == 'bomb':
        return 'png', _bomb(int(rng.integers(40_000, 100_000)))
    if kind == 'cut off':
        return 'jpg', original.content[:int(rng.uniform(0.3, 0.95) * len(original.content))]
    if kind == 'wrong suffix':
        return 'jpg', _png(original.picture)
    if kind == 'damaged':
        content = bytearray(_png(original.picture))
        content[int(rng.integers(len(content) // 4, len(content) * 3 // 4))] ^= 0x5A
        return 'png', bytes(content)
    frames = [Image.fromarray(np.roll(original.picture[..., ::-1], 4 * step, axis=1)) for step in range(3)]
    file = io.BytesIO()
    frames[0].save(file, 'GIF', save_all=True, append_images=frames[1:])
    return 'gif', file.getvalue()


def _bomb(side: int) -> bytes:
    """A small PNG whose header promises ``side`` x ``side`` pixels of one colour."""
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
    data = zlib.compress(bytes(1_000_000), 9)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0))
            + chunk(b'IDAT', data) + chunk(b'IEND', b''))


def _faulty(kind: str, picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    height, width = picture.shape[:2]
    if kind == 'too small':
        scale = rng.uniform(0.15, 0.45)
        return cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    if kind == 'too long':
        strip = cv2.resize(picture, (2 * width, 2 * height), interpolation=cv2.INTER_CUBIC)
        return strip[:, :round(2 * height / rng.uniform(3.3, 3.9))]
    if kind == 'blurred':
        return cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.02, 0.05) * min(height, width))
    if kind == 'burnt out':  # half to nine tenths of the pixels become white
        grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
        return cv2.convertScaleAbs(picture, alpha=255 / max(float(np.quantile(grey, rng.uniform(0.1, 0.5))), 1) * 1.2)
    colour = rng.uniform(20, 235, 3) + rng.normal(0, 1, picture.shape)
    return np.clip(colour, 0, 255).astype(np.uint8)
