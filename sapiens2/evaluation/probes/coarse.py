"""The 29 classes merged into few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import torch
from torch import Tensor

from sapiens2.datasets.metainfo import IGNORE_LABEL, load_metainfo

COARSE = 'seg_coarse'
GROUPS = {
    'background': ('Background',),
    'head': ('Face_Neck', 'Hair', 'Eyeglass', 'Lower_Lip', 'Upper_Lip', 'Lower_Teeth', 'Upper_Teeth', 'Tongue'),
    'arms': ('Left_Hand', 'Right_Hand', 'Left_Lower_Arm', 'Right_Lower_Arm', 'Left_Upper_Arm', 'Right_Upper_Arm'),
    'legs': ('Left_Lower_Leg', 'Right_Lower_Leg', 'Left_Upper_Leg', 'Right_Upper_Leg'),
    'feet': ('Left_Foot', 'Right_Foot', 'Left_Shoe', 'Right_Shoe', 'Left_Sock', 'Right_Sock'),
    'torso': ('Torso', 'Upper_Clothing', 'Apparel'),
    'lower clothing': ('Lower_Clothing',),
}


def coarse_table(classes: Sequence[str]) -> Optional[Tensor]:
    """(256,) group of each of the 29 classes, 255 for what is ignored; None for another set of classes."""
    if list(classes) != list(load_metainfo('seg29')['classes']):
        return None
    table = torch.full((256,), IGNORE_LABEL)
    for group, names in enumerate(GROUPS.values()):
        for name in names:
            table[classes.index(name)] = group
    return table
