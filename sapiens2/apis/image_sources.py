"""What an inferencer is given, as one list: files, arrays and Pillow images, each with a name for its results."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Optional, Union

import numpy as np
from PIL import Image, ImageOps

from sapiens2.apis.outputs import NUMBER_ENDINGS
from sapiens2.utils.atomic import check_folder
from sapiens2.utils.fetch import fetch, is_address, split_address
from sapiens2.utils.image_errors import ImageReadError
from sapiens2.utils.image_io import pillow_to_bgr, read_image
from sapiens2.utils.image_list import ImageFile, free_stem, list_images, output_stems
from sapiens2.utils.portable_names import portable_name

ImageInput = Union[str, os.PathLike, np.ndarray, Image.Image]
_ITEMS = (str, os.PathLike, np.ndarray, Image.Image)
_KINDS = 'must be paths, or else arrays (H, W, 3) uint8 BGR and Pillow images'


@dataclass(frozen=True)
class ImageSource:
    """One image, not read yet if it is a file.

    Attributes:
        stem: name of its results, '/' between folders; no other source of the list has it.
        path: the file, None for other images.
        pixels: the image in memory, None for other images.
        url: the address, None for other images.
        details: entries that its results are to have, the time of a frame for instance.
    """

    stem: str
    path: Optional[Path] = None
    pixels: Optional[Union[np.ndarray, Image.Image]] = None
    url: Optional[str] = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.url or (self.stem if self.path is None else str(self.path))

    @property
    def file_name(self) -> Optional[Path]:
        """By which boxes in a file are matched; None for an image in memory."""
        return Path(_path_of(self.url)) if self.url else self.path

    @property
    def origin(self) -> Optional[Union[Path, str]]:
        """The file or the address; None for an image in memory."""
        return self.path or self.url

    def read(self) -> np.ndarray:
        """(H, W, 3) uint8 BGR, upright.

        Raises:
            ValueError: naming the image, if it cannot be read, or if an array is no image.
        """
        if self.path is not None:
            return read_image(self.path)
        if self.url is not None:
            return read_image(fetch(self.url), self.url)
        if isinstance(self.pixels, Image.Image):
            return self._of_pillow()
        return _checked_array(self.pixels, self.stem)

    def _of_pillow(self) -> np.ndarray:
        try:
            return pillow_to_bgr(ImageOps.exif_transpose(self.pixels), self.stem)
        except ImageReadError:
            raise
        except (OSError, SyntaxError, ValueError) as error:  # of a file that is read now, a closed image, an odd mode
            raise ImageReadError(self.stem, f'Pillow cannot read this image of mode {self.pixels.mode}: {error}') \
                from error


def _checked_array(pixels: np.ndarray, name: str) -> np.ndarray:
    """A grey or BGR array as (H, W, 3) BGR."""
    is_picture = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)
    if not is_picture or pixels.dtype != np.uint8 or 0 in pixels.shape:
        remedies = list(_conversions(pixels))
        raise ValueError(f'{name}: an image array must be uint8 of shape (H, W, 3), BGR, or (H, W); this is '
                         f'{pixels.dtype} of shape {pixels.shape}'
                         + (f'. Convert it: {", ".join(remedies)}' if remedies else ''))
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[..., None], 3, axis=2)
    return np.ascontiguousarray(pixels)


def _conversions(pixels: np.ndarray) -> Iterator[str]:
    """What makes an image array of ``pixels`` where that is likely to be meant."""
    if pixels.ndim == 3 and pixels.shape[2] == 4:
        yield 'image[..., :3] leaves alpha out, if the others are BGR (image[..., 2::-1] if they are RGB)'
    elif pixels.ndim == 3 and pixels.shape[2] == 1:
        yield 'image[..., 0]'
    elif pixels.ndim == 3 and pixels.shape[0] in (1, 3) and pixels.shape[2] != 3:
        yield 'image.transpose(1, 2, 0)' if pixels.shape[0] == 3 else 'image[0]'
    elif pixels.ndim == 4:
        yield 'give the images one by one, list(images)'
    if pixels.dtype == bool:
        yield 'image.astype(np.uint8) * 255'
    elif pixels.dtype == np.uint16:
        yield '(image // 257).astype(np.uint8), if it uses all 16 bits'
    elif pixels.dtype.kind == 'f':
        yield '(image * 255).round().clip(0, 255).astype(np.uint8), if its values are 0 to 1'
    elif pixels.dtype != np.uint8 and pixels.dtype.kind in 'iu':
        yield 'image.astype(np.uint8), if its values are 0 to 255'


def image_sources(
        inputs: Union[ImageInput, Sequence[Any], Iterator[Any]], missing: Optional[list[str]] = None,
        out_dir: Optional[Path] = None, result_ending: Optional[str] = None
) -> Union[list[ImageSource], Iterator[ImageSource]]:
    """The images that ``inputs`` name, in order; those at addresses come last.

    Args:
        inputs: a path (image, folder with its sub-folders, glob, or ``.txt`` list of paths), an address (http, https),
            an array (H, W, 3) uint8 BGR or (H, W), a Pillow image, or a sequence of paths or of images. A list that
            this function returned is returned as it is. An iterator of any of these, or of ``ImageSource``, gives them
            as it goes.
        missing: takes a line for each path that leads to no image; without it they are an error. Of an iterator, such
            paths are sources that cannot be read.
        out_dir: folder of results. Pictures in its folders of tasks are results of an earlier run, and no inputs.
        result_ending: of pictures that lie as results in ``out_dir`` itself.

    Raises:
        FileNotFoundError: for paths that lead to no image.
        OSError: if ``out_dir`` cannot be written to.
        TypeError: if the inputs are none of these, or if paths and images are mixed in a list.
        ValueError: if results would be written among the inputs, or results in ``out_dir`` are named as inputs; for an
            empty name.
    """
    if out_dir is not None:
        check_folder(out_dir)
    if isinstance(inputs, Iterator):
        return _as_they_go(inputs, out_dir)
    if not isinstance(inputs, _ITEMS) and (
            not isinstance(inputs, Iterable) or isinstance(inputs, (Mapping, bytes, bytearray))):
        remedy = ': give list(inputs.values())' if isinstance(inputs, Mapping) else ''
        raise TypeError(f'inputs {_KINDS}; got {type(inputs).__name__}{remedy}')
    items = [inputs] if isinstance(inputs, _ITEMS) else list(inputs)
    if isinstance(inputs, np.ndarray) and inputs.ndim == 4:
        items = list(inputs)
    if all(isinstance(item, ImageSource) for item in items):
        return items
    if all(isinstance(item, (np.ndarray, Image.Image)) for item in items):
        return [ImageSource(f'{index:06d}', pixels=item) for index, item in enumerate(items)]
    if not all(isinstance(item, (str, os.PathLike)) for item in items):
        kinds = sorted({type(item).__name__ for item in items})
        raise TypeError(f'inputs {_KINDS}; got a list of {", ".join(kinds)}')
    urls = list(dict.fromkeys(item for item in items if isinstance(item, str) and is_address(item)))
    items = [item for item in items if item not in urls]
    files = list_images(items, missing=missing)
    if out_dir is not None:
        files = _without_results(files, [os.fspath(item) for item in items], out_dir, result_ending)
    pages = [ImageFile(path, PurePath(path.name or 'page')) for path in (Path(_path_of(url)) for url in urls)]
    stems = output_stems([*files, *pages])
    return [*(ImageSource(stem, path=file.path) for file, stem in zip(files, stems)),
            *(ImageSource(stem, url=url) for url, stem in zip(urls, stems[len(files):]))]


def _as_they_go(inputs: Iterator[Any], out_dir: Optional[Path]) -> Iterator[ImageSource]:
    """The images that an iterator names, each when it is asked for.

    Raises:
        TypeError, ValueError: as ``image_sources``, when the iterator comes to it.
    """
    taken: set[str] = set()
    for index, item in enumerate(inputs):
        if isinstance(item, ImageSource):
            yield item
        elif isinstance(item, (np.ndarray, Image.Image)):
            yield ImageSource(free_stem(f'{index:06d}', '', taken), pixels=item)
        elif isinstance(item, (str, os.PathLike)):
            missing: list[str] = []
            sources = image_sources([item], missing, out_dir)
            if missing:  # reading says why
                sources.append(ImageSource(Path(item).stem or 'missing', path=Path(item)))
            for source in sources:
                yield replace(source, stem=free_stem(source.stem, source.file_name.suffix, taken))
        else:
            raise TypeError(f'inputs {_KINDS}; item {index} of the iterator is {type(item).__name__}')


def _path_of(url: str) -> str:
    """Host and path of an address, without what would lead out of a folder or is no name on some system."""
    parts = split_address(url)
    names = [parts.hostname or '', *urllib.parse.unquote(parts.path).split('/')]
    return '/'.join(portable_name(name) for name in names if name not in ('', '.', '..'))


def _without_results(files: Sequence[ImageFile], items: Sequence[str], out_dir: Path,
                     ending: Optional[str]) -> list[ImageFile]:
    """``files`` but for those that an earlier run has written to ``out_dir``.

    Raises:
        ValueError: if ``out_dir`` holds inputs itself, or an input names results in it.
    """
    # Not Path.resolve, which raises for a link that leads to itself.
    folder = os.path.realpath(out_dir)
    if ending is not None:
        files = [file for file in files if not (file.path.name.endswith(ending) and os.path.join(
            os.path.realpath(file.path.parent), '').startswith(os.path.join(folder, '')))]
    results = [os.path.join(folder, task, '') for task in NUMBER_ENDINGS]
    places = [os.path.join(os.path.realpath(file.path.parent), '') for file in files]
    named = [os.path.join(os.path.realpath(item), '') for item in items]
    if os.path.join(folder, '') in (*places, *(place for place in named if os.path.isdir(place))):
        raise ValueError(f'{out_dir} holds input images: choose another folder for the results')
    for item, place in zip(items, named):
        if place.startswith(tuple(results)):
            raise ValueError(f'{item} lies among the results in {out_dir}: choose another folder for the results')
    return [file for file, place in zip(files, places) if not place.startswith(tuple(results))]
