"""Third pass: the images that are kept, read again and written as WebDataset shards, each with its scores beside it."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from sapiens2.curation.source import Source
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.parallel import results_of
from sapiens2.utils.progress import progress_bar

SHARDS = 'shards'
_MARK = 'selection.json'
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

    def is_done(self, shard: int) -> bool:
        """Whether both files are there; the Parquet file is written last."""
        return self.path(shard, 'parquet').exists() and self.path(shard, 'tar').exists()

    def __call__(self, shard: int) -> int:
        """Write a shard; the number of its images.

        Raises:
            ValueError: naming the image, if its content is no longer what was scored.
        """
        import pyarrow.parquet

        indices = self.order[shard * self.size:(shard + 1) * self.size]
        table = self._rows(indices)
        with atomic_path(self.path(shard, 'tar')) as partial, \
                tarfile.open(partial, 'w', format=tarfile.USTAR_FORMAT) as tar:
            for row in table.select(['index', 'name', 'format', 'sha256']).to_pylist():
                content = self.source.read(row['index'])
                if hashlib.sha256(content).digest() != row['sha256']:
                    raise ValueError(f'{row["name"]}: has changed since it was scored. Begin again in another folder')
                member = tarfile.TarInfo(f'{row["index"]:010d}.{_ENDINGS.get(row["format"], _ENDING_OF_OTHERS)}')
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        with atomic_path(self.path(shard, 'parquet')) as partial:
            pyarrow.parquet.write_table(table, partial, compression='zstd')
        return len(indices)

    def _rows(self, indices: np.ndarray) -> Any:
        """All columns of images, in the order of ``indices``."""
        import pyarrow
        import pyarrow.parquet

        parts = np.unique(indices // self.part_size)
        starts = {part: number * self.part_size for number, part in enumerate(parts.tolist())}
        table = pyarrow.concat_tables(pyarrow.parquet.read_table(self.scores[part]) for part in parts)
        rows = [starts[index // self.part_size] + index % self.part_size for index in indices.tolist()]
        return table.take(rows).replace_schema_metadata(None)  # what it says of times is different in every run


def write_shards(writer: ShardWriter, workers: int, console: Console) -> None:
    """Write the shards that are not there.

    Raises:
        ValueError: if the folder has shards of another selection.
    """
    mark = {'images': len(writer.order), 'size': writer.size,
            'order': hashlib.sha256(writer.order.astype('<i8').tobytes()).hexdigest()}
    path = writer.folder / _MARK
    if path.exists() and json.loads(path.read_text(encoding='utf-8')) != mark:
        raise ValueError(f'{writer.folder}: holds shards of another selection. Move or remove that folder, and give '
                         'the same command again; scores are kept')
    with atomic_path(path) as partial:
        partial.write_text(json.dumps(mark, indent=2), encoding='utf-8')
    missing = [shard for shard in writer.shards() if not writer.is_done(shard)]
    total = len(writer.order)
    left = sum(len(writer.order[shard * writer.size:(shard + 1) * writer.size]) for shard in missing)
    with closing(results_of(writer, missing, min(workers, len(missing)))) as results, progress_bar(console) as progress:
        bar = progress.add_task('writing', total=total, completed=total - left)
        for _, images in results:
            progress.advance(bar, images)
