"""Classes of public parsing sets, and the class of ours that each becomes.

A class that ours divide further, or that they lack, becomes None: its pixels are ignored in training. Left and right
are the person's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from sapiens2.datasets.metainfo import IGNORE_LABEL, load_metainfo
from sapiens2.utils.suggest import UnknownNameError, unknown_name

# Classes that labels are mapped to.
COUNT = len(load_metainfo('seg29')['classes'])

# Gong et al., "Look into Person", CVPR 2017: the 20 labels in their order. An arm or a leg is one class there, three
# here; a dress or a jumpsuit is upper and lower clothing at once; socks have no side.
LIP: dict[str, Optional[str]] = {
    'Background': 'Background', 'Hat': 'Apparel', 'Hair': 'Hair', 'Glove': 'Apparel', 'Sunglasses': 'Eyeglass',
    'Upper-clothes': 'Upper_Clothing', 'Dress': None, 'Coat': 'Upper_Clothing', 'Socks': None,
    'Pants': 'Lower_Clothing', 'Jumpsuits': None, 'Scarf': 'Apparel', 'Skirt': 'Lower_Clothing', 'Face': 'Face_Neck',
    'Left-arm': None, 'Right-arm': None, 'Left-leg': None, 'Right-leg': None, 'Left-shoe': 'Left_Shoe',
    'Right-shoe': 'Right_Shoe'}

# Gong et al., "Instance-level Human Parsing via Part Grouping Network", ECCV 2018: as LIP, but for label 10.
CIHP: dict[str, Optional[str]] = {
    ('Torso-skin' if name == 'Jumpsuits' else name): ('Torso' if name == 'Jumpsuits' else target)
    for name, target in LIP.items()}

# Lee et al., "MaskGAN", CVPR 2020: names of the part files, in the order in which they are painted over each other.
# That of the authors' g_mask.py, except that glasses come after the eyes and brows which are seen through them: our
# Eyeglass includes the lenses. The mouth is its inside, where ours tell teeth, tongue and the rest apart.
CELEBAMASK: dict[str, Optional[str]] = {
    'skin': 'Face_Neck', 'nose': 'Face_Neck', 'l_eye': 'Face_Neck', 'r_eye': 'Face_Neck', 'l_brow': 'Face_Neck',
    'r_brow': 'Face_Neck', 'eye_g': 'Eyeglass', 'l_ear': 'Face_Neck', 'r_ear': 'Face_Neck', 'mouth': None,
    'u_lip': 'Upper_Lip', 'l_lip': 'Lower_Lip', 'hair': 'Hair', 'hat': 'Apparel', 'ear_r': 'Apparel',
    'neck_l': 'Apparel', 'neck': 'Face_Neck', 'cloth': 'Upper_Clothing'}


def targets(table: Mapping[str, Optional[str]], classes: str = 'seg29') -> dict[str, int]:
    """Name in ``table`` -> label in the class set ``classes``, or 255.

    Raises:
        UnknownNameError: if the class set lacks a class that ``table`` names.
    """
    labels = {name: label for label, name in enumerate(load_metainfo(classes)['classes'])}
    for target in table.values():
        if target is not None and target not in labels:
            raise UnknownNameError(unknown_name(target, labels, f'class of {classes}'))
    return {name: IGNORE_LABEL if target is None else labels[target] for name, target in table.items()}
