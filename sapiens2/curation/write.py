"""Third pass: the images that are kept, read again and written as WebDataset shards, each with its scores beside it."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from sapiens2.curation.processes import spread
from sapiens2.curation.source import Source
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_errors import ImageReadError
from sapiens2.utils.progress import progress_bar

SHARDS = 'shards'
_MARK = 'selection.json'
_FILE = re.compile(r'images-\d{6,}\.(tar|parquet)')
_TAR_BYTES, _LEFT_OUT = b'sapiens2_tar_bytes', b'sapiens2_left_out'
# What Pillow calls a format -> ending of its files, as training looks for them.
_ENDINGS = {'JPEG': 'jpg', 'PNG': 'png', 'WEBP': 'webp', 'GIF': 'gif', 'BMP': 'bmp', 'TIFF': 'tif', 'PPM': 'ppm',
            'JPEG2000': 'jp2', 'AVIF': 'avif'}
_ENDING_OF_OTHERS = 'img'


@dataclass(frozen=True)
class ShardWriter:
    """Writes one shard: a tar file of the images as they are, and a Parquet file of their columns.

    Attributes:
        source: of the images.
        scores: files of the first pass.
        part_size: images of each.
        folder: where shards go.
        size: images of a shard.
        order: numbers of all images that are kept, in the order in which they are written.
    """

    source: Source
    scores: Sequence[Path]
    part_size: int
    folder: Path
    size: int
    order: np.ndarray

    def shards(self) -> range:
        """Numbers of the shards."""
        return range(-(-len(self.order) // self.size))

    def path(self, shard: int, ending: str) -> Path:
        """File of a shard."""
        return self.folder / f'images-{shard:06d}.{ending}'

    def images_in(self, shard: int) -> int:
        """Images of a shard, those that may turn out to have changed included."""
        return len(self.order[shard * self.size:(shard + 1) * self.size])

    def is_done(self, shard: int) -> bool:
        """Whether both files are there and whole; the Parquet file is written last, and knows the size of the other."""
        size = self._said(shard).get(_TAR_BYTES)
        tar = self.path(shard, 'tar')
        return size is not None and tar.exists() and tar.stat().st_size == int(size)

    def left_out(self) -> Iterator[tuple[int, str, str]]:
        """Number, name and reason of images that could not be written."""
        for shard in self.shards():
            yield from map(tuple, json.loads(self._said(shard).get(_LEFT_OUT, b'[]')))

    def _said(self, shard: int) -> dict[bytes, bytes]:
        """What the Parquet file of a shard says of it; nothing if it is missing or damaged."""
        import pyarrow.parquet

        try:
            return pyarrow.parquet.read_schema(self.path(shard, 'parquet')).metadata or {}
        except FileNotFoundError:
            return {}
        except (pyarrow.ArrowException, OSError) as error:
            if getattr(error, 'errno', None) is not None:  # of the file system; what pyarrow says of content has none
                raise
            return {}

    def __call__(self, shard: int) -> int:
        """Write a shard; the number of images that it should have. Those that have changed or gone are left out."""
        import pyarrow.parquet

        indices = self.order[shard * self.size:(shard + 1) * self.size]
        table = self._rows(indices)
        written: list[int] = []
        left_out: list[tuple[int, str, str]] = []
        with atomic_path(self.path(shard, 'tar')) as partial:
            with tarfile.open(partial, 'w', format=tarfile.USTAR_FORMAT) as tar:
                for place, row in enumerate(table.select(['index', 'name', 'format', 'sha256']).to_pylist()):
                    try:
                        content = self.source.find(row['index'], row['name'])
                        if hashlib.sha256(content).digest() != row['sha256']:
                            raise ImageReadError(row['name'], 'has changed since it was scored')
                    except ImageReadError as error:
                        self.source.check_there()
                        left_out.append((row['index'], row['name'], error.reason))
                        continue
                    member = tarfile.TarInfo(f'{row["index"]:010d}.{_ENDINGS.get(row["format"], _ENDING_OF_OTHERS)}')
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
                    written.append(place)
            size = partial.stat().st_size
        table = table.take(np.array(written, dtype=np.int64)).replace_schema_metadata({
            _TAR_BYTES: str(size).encode(), **({_LEFT_OUT: json.dumps(left_out).encode()} if left_out else {})})
        with atomic_path(self.path(shard, 'parquet')) as partial:
            pyarrow.parquet.write_table(table, partial, compression='zstd')
        return len(indices)

    def _rows(self, indices: np.ndarray) -> Any:
        """All columns of images, in the order of ``indices``."""
        import pyarrow
        import pyarrow.parquet

        parts = np.unique(indices // self.part_size)
        starts = {part: number * self.part_size for number, part in enumerate(parts.tolist())}
        # What the metadata say of times is different in every run.
        table = pyarrow.concat_tables(pyarrow.parquet.read_table(self.scores[part]).replace_schema_metadata(None)
                                      for part in parts)
        return table.take([starts[index // self.part_size] + index % self.part_size for index in indices.tolist()])

    def mark(self) -> dict[str, Any]:
        """What tells one selection from another."""
        return {'images': len(self.order), 'size': self.size,
                'order': hashlib.sha256(self.order.astype('<i8').tobytes()).hexdigest()}

    def others(self) -> str:
        """Why the shards that are there are not those of this selection; empty if they are, or if there are none."""
        if not self._files():
            return ''
        path = self.folder / _MARK
        try:
            before = json.loads(path.read_text(encoding='utf-8'))
        except FileNotFoundError:
            return f'{self.folder}: holds shards, and no {_MARK} that says of which selection'
        except ValueError:
            return f'{path}: is damaged, so it does not say of which selection the shards are'
        return '' if before == self.mark() else f'{self.folder}: holds shards of another selection'

    def clear(self) -> None:
        """Remove shards; what says of which selection they are goes last."""
        for path in [*self._files(), self.folder / _MARK]:
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if _FILE.fullmatch(path.name)) \
            if self.folder.is_dir() else []


def write_shards(writer: ShardWriter, workers: int, console: Console) -> None:
    """Write the shards that are not there. Those of another selection must have been cleared."""
    with atomic_path(writer.folder / _MARK) as partial:
        partial.write_text(json.dumps(writer.mark(), indent=2), encoding='utf-8')
    missing = [shard for shard in writer.shards() if not writer.is_done(shard)]
    total = len(writer.order)
    left = sum(map(writer.images_in, missing))
    with closing(spread(writer, missing, workers, console)) as results, progress_bar(console) as progress:
        bar = progress.add_task('writing', total=total, completed=total - left)
        for _, images in results:
            progress.advance(bar, images)
