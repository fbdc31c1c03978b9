"""Names that the command offers and the code behind it takes. Without torch, so that help is there at once."""

from __future__ import annotations

from typing import Optional

# Files of ``sapiens2 features``, by their endings.
FEATURE_FORMATS = ('npz', 'safetensors')
# Layouts of weights that ``sapiens2 convert`` writes.
WEIGHT_FORMATS = ('released', 'transformers')
# Probes of ``sapiens2 probe``: of class tokens; of patch tokens, with the ground truth that each needs; and others.
CLASS_PROBES = ('knn', 'linear', 'retrieval')
FIELD_OF_PROBE = {'seg': 'sem_seg', 'normal': 'normal', 'depth': 'depth', 'albedo': 'albedo'}
FEW, PICTURES = 'fewshot', 'pictures'
PROBES = (*CLASS_PROBES, *FIELD_OF_PROBE, FEW, PICTURES)
# How predictions are brought to the truth before they are measured, and who may have made them; their entries are in
# ``evaluation/functional/alignment.py`` and ``evaluation/predictions/conventions.py``.
ALIGNMENTS = ('none', 'scale', 'scale-median', 'scale-shift', 'scale-shift-l1', 'disparity', 'scale-shift3',
              'scale-shift3-l1')
CONVENTIONS = ('sapiens2', 'opencv', 'opengl', 'srgb', 'disparity', 'moge', 'unidepth', 'david')
# Sets of key points other than the 308 that ``sapiens2 infer`` also writes.
KEYPOINT_SETS = ('coco17', 'wholebody133', 'openpose25')
# Task -> format of its results -> ending of its file; None for one file a run. The first ones are written by default.
OUTPUT_FORMATS: dict[str, dict[str, Optional[str]]] = {
    'pose': {'json': '.json', 'openpose': '.openpose_keypoints.json', 'coco': None},
    'seg': {'png': '.png', 'npz': '.npz', 'soft': '.soft.npz', 'people': '.people.png', 'people-npz': '.people.npz'},
    'normal': {'png': '.png', 'npz': '.npz', 'png16': '.16bit.png', 'exr': '.exr'},
    'pointmap': {'png': '.png', 'npz': '.npz', 'exr': '.exr', 'ply': '.ply', 'glb': '.glb', 'camera': '.camera.json'},
    'albedo': {'png': '.png', 'npz': '.npz', 'srgb': '.srgb.png', 'png16': '.16bit.png', 'exr': '.exr'},
}
DEFAULT_FORMATS = ('json', 'png', 'npz')
