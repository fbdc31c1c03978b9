"""sapiens2: high-resolution vision transformers for people, in MMEngine style.

Dimension letters used in every docstring of the project: B batch, N tokens, C channels, K key points,
H rows and W columns (of images), h and w rows and columns of feature maps or heat maps.
"""

from sapiens2.version import __version__

__all__ = ['__version__']
