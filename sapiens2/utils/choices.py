"""Names that the command offers and the code behind it takes. Without torch, so that help is there at once."""

from __future__ import annotations

# Files of ``sapiens2 features``, by their endings.
FEATURE_FORMATS = ('npz', 'safetensors')
# Layouts of weights that ``sapiens2 convert`` writes.
WEIGHT_FORMATS = ('released', 'transformers')
# Probes of ``sapiens2 probe``: of class tokens; of patch tokens, with the ground truth that each needs; and others.
CLASS_PROBES = ('knn', 'linear', 'retrieval')
FIELD_OF_PROBE = {'seg': 'sem_seg', 'normal': 'normal', 'depth': 'depth', 'albedo': 'albedo'}
FEW, PICTURES = 'fewshot', 'pictures'
PROBES = (*CLASS_PROBES, *FIELD_OF_PROBE, FEW, PICTURES)
