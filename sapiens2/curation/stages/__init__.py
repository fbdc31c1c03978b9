"""What measures images. Each file has one kind of measure."""

from sapiens2.curation.stages.aesthetic import Aesthetic
from sapiens2.curation.stages.attributes import Attributes
from sapiens2.curation.stages.decode import Decode
from sapiens2.curation.stages.embedding import Embedding
from sapiens2.curation.stages.faces import Faces
from sapiens2.curation.stages.hashes import Hashes
from sapiens2.curation.stages.metadata import Metadata
from sapiens2.curation.stages.people import DetectPeople, PeopleByFaces
from sapiens2.curation.stages.quality import Quality
from sapiens2.curation.stages.realism import Realism
from sapiens2.curation.stages.safety import Nudity
from sapiens2.curation.stages.skin import SkinTone
from sapiens2.curation.stages.text import TextArea

__all__ = ['Aesthetic', 'Attributes', 'Decode', 'DetectPeople', 'Embedding', 'Faces', 'Hashes', 'Metadata', 'Nudity',
           'PeopleByFaces', 'Quality', 'Realism', 'SkinTone', 'TextArea']
