"""What measures images. Each file has one kind of measure."""

from sapiens2.curation.stages.decode import Decode
from sapiens2.curation.stages.hashes import Hashes

__all__ = ['Decode', 'Hashes']
