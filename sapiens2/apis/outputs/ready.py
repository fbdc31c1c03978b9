"""Whether what is asked for can be written at all: known before a network is loaded."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from typing import Any

from sapiens2.apis.outputs.options import OutputOptions
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.datasets.metainfo.conversions import OWN, keypoint_conversion

# Format -> package that writes it, and what installs it.
_PACKAGES = {'exr': ('OpenEXR', 'pip install "sapiens2[exr]"')}


def check_packages(tasks: Iterable[str], outputs: OutputOptions) -> None:
    """
    Raises:
        ImportError: naming the package that a format of one of the tasks needs and that is not installed.
    """
    for task in tasks:
        for name in outputs.formats(task):
            package, remedy = _PACKAGES.get(name, (None, ''))
            if package is not None and importlib.util.find_spec(package) is None:
                raise ImportError(f'{task}: the format {name} needs the package {package}: {remedy}')


def check_keypoints(meta: Mapping[str, Any], outputs: OutputOptions) -> None:
    """Whether the points of a network can be given as ``outputs`` asks for.

    Args:
        meta: of the network, see ``dataset_meta``.

    Raises:
        ValueError: naming the set or the format that is not made of them.
    """
    names = tuple(meta['keypoint_names'])
    if names == tuple(load_metainfo(OWN)['keypoint_names']):
        return
    for wanted in outputs.keypoints:
        if names != keypoint_conversion(wanted).names:
            raise ValueError(f'keypoints: {wanted} is made of the {OWN} points, and this network gives {len(names)} '
                             f'others ({", ".join(names[:3])}, ...). Leave out {wanted} (--keypoints), or choose a '
                             f'network of {OWN}')
    if 'openpose' in outputs.pose:
        raise ValueError(f'pose: the format openpose is made of the {OWN} points, and this network gives {len(names)} '
                         f'others. Leave out openpose (--also), or choose a network of {OWN}')
