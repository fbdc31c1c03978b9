"""From radiance to a photograph: exposure, lens, sensor, tone curve, JPEG."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from sapiens2.utils.srgb import encoded


@dataclass(frozen=True)
class Photo:
    """How a picture is taken.

    Attributes:
        exposure: stops above the automatic exposure.
        white: (3,) gains of the colours.
        contrast: 1 for none, more for a steeper tone curve.
        saturation: 1 for unchanged colours.
        vignetting: loss of light in the corners, 0 to 1.
        blur: standard deviation of the lens blur, pixels.
        aperture: 0 for sharp everywhere, else the blur, in pixels, of what is infinitely far behind the subject.
        noise: standard deviation of the sensor noise in the shadows, 8-bit steps.
        jpeg: quality in percent, None for no compression.
    """

    exposure: float = 0.0
    white: tuple[float, float, float] = (1.0, 1.0, 1.0)
    contrast: float = 1.0
    saturation: float = 1.0
    vignetting: float = 0.0
    blur: float = 0.0
    aperture: float = 0.0
    noise: float = 0.0
    jpeg: int | None = None


def sample_photo(rng: np.random.Generator, size: tuple[int, int]) -> Photo:
    """Settings as they occur in photographs, from good cameras to poor ones.

    Args:
        rng: source of chance.
        size: (H, W) of the picture, pixels.
    """
    warm = rng.normal(0, 0.06)
    return Photo(exposure=float(rng.normal(0, 0.3)), white=(float(np.exp(warm)), float(np.exp(rng.normal(0, 0.015))),
                                                           float(np.exp(-warm))),
                 contrast=float(rng.uniform(0.9, 1.3)), saturation=float(rng.uniform(0.8, 1.2)),
                 vignetting=float(rng.uniform(0, 0.3)), blur=float(rng.uniform(0.3, 0.75)),
                 aperture=float(rng.uniform(0.002, 0.012) * max(size)) if rng.random() < 0.5 else 0.0,
                 noise=float(rng.uniform(0.2, 1.5) if rng.random() < 0.7 else rng.uniform(1.5, 6)),
                 jpeg=int(rng.integers(70, 98)) if rng.random() < 0.8 else None)


def develop(radiance: np.ndarray, mask: np.ndarray, photo: Photo, rng: np.random.Generator) -> np.ndarray:
    """The photograph.

    Args:
        radiance: (H, W, 3) float32 linear RGB.
        mask: (H, W) bool, the people, on whom the exposure is metered.
        photo: settings.
        rng: of the noise.

    Returns:
        (H, W, 3) uint8 sRGB.
    """
    height, width = mask.shape
    image = radiance * np.float32(_exposure(radiance, mask) * 2**photo.exposure)
    image *= np.float32(photo.white)
    if photo.vignetting:
        y = (np.arange(height, dtype=np.float32)[:, None] - height / 2) / max(height, width) * 2
        x = (np.arange(width, dtype=np.float32)[None] - width / 2) / max(height, width) * 2
        image *= (1 - np.float32(photo.vignetting) * np.minimum((x * x + y * y) * 0.6, 1))[:, :, None]
    if photo.blur:
        image = cv2.GaussianBlur(image, (0, 0), photo.blur, borderType=cv2.BORDER_REPLICATE)
    grey = image @ np.float32([0.2126, 0.7152, 0.0722])
    image = grey[:, :, None] + np.float32(photo.saturation) * (image - grey[:, :, None])
    image = _tone(np.maximum(image, 0), photo.contrast)
    if photo.noise:
        grain = rng.standard_normal(image.shape, dtype=np.float32)
        # Film and sensors are noisiest in the shadows once the tone curve has lifted them; chips smooth a little.
        grain = cv2.GaussianBlur(grain, (0, 0), 0.55)
        image += grain * (photo.noise * (1.6 - 1.1 * image / 255))
    image = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    if photo.jpeg is None:
        return image
    done, code = cv2.imencode('.jpg', image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, photo.jpeg])
    if not done:
        raise RuntimeError(f'the picture of {width} x {height} pixels could not be compressed as JPEG')
    return np.ascontiguousarray(cv2.imdecode(code, cv2.IMREAD_COLOR)[:, :, ::-1])


def _exposure(radiance: np.ndarray, mask: np.ndarray) -> float:
    """Gain that puts the people, and a little the whole picture, at middle brightness."""
    grey = radiance @ np.float32([0.2126, 0.7152, 0.0722])
    whole = np.exp(np.log(grey + 1e-3).mean())
    if not mask.any():
        return 0.20 / float(whole)
    people = grey[mask]
    meter = np.exp(np.log(people + 1e-3).mean())
    bright = np.percentile(radiance[mask].max(1)[::4], 96)
    # Dark skin and clothes stay darker than light ones: a meter sees part of the difference only.
    gain = 0.17 / (meter**0.5 * whole**0.2 * 0.22**0.3)
    return float(min(gain, 0.85 / max(bright, 1e-3)))


def _tone(image: np.ndarray, contrast: float) -> np.ndarray:
    """0 to 255: a shoulder that keeps highlights, the sRGB curve, and contrast around middle grey."""
    # K. Narkowicz' fit of the ACES curve, 2015, scaled so that middle grey stays.
    x = image * np.float32(0.72)
    x = (x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14)
    curve = encoded(np.linspace(0, 1, 4096))
    middle = 0.46
    curve = np.clip(middle + (curve - middle) * contrast, 0, 1)
    # The toe and shoulder of an S bend replace the clipped ends of the straight line.
    curve = curve + 0.04 * (contrast - 1) * np.sin(2 * np.pi * curve)
    return (np.clip(curve, 0, 1) * 255).astype(np.float32)[(np.clip(x, 0, 1) * 4095 + 0.5).astype(np.int32)]


def defocus(radiance: np.ndarray, depth: np.ndarray, mask: np.ndarray, aperture: float) -> np.ndarray:
    """Blur what lies behind the people, who stay sharp: two layers, so that people do not bleed into the blur.

    Args:
        radiance: (H, W, 3) float32.
        depth: (H, W) float32 metres of all that is seen, infinite for the sky.
        mask: (H, W) bool, the people.
        aperture: ``Photo.aperture``.
    """
    if not mask.any() or mask.all():
        return radiance
    focus = float(np.median(depth[mask]))
    share = np.where(mask, 0, np.clip(1 - focus / np.maximum(depth, 1e-3), 0, 1)).astype(np.float32)
    behind = (~mask).astype(np.float32)
    # Two blurs are mixed by distance; each is divided by the blurred mask, which keeps the people out of it.
    layers = []
    for sigma in (0.45 * aperture, aperture):
        weight = cv2.GaussianBlur(behind, (0, 0), sigma)[:, :, None]
        layers.append(cv2.GaussianBlur(radiance * behind[:, :, None], (0, 0), sigma) / np.maximum(weight, 1e-3))
    share = cv2.GaussianBlur(share, (0, 0), 0.5 * aperture) if aperture > 1 else share
    share = np.where(mask, 0, share)[:, :, None]
    first = np.clip(share * 2, 0, 1)
    second = np.clip(share * 2 - 1, 0, 1)
    return radiance + first * (layers[0] - radiance) + second * (layers[1] - layers[0])
