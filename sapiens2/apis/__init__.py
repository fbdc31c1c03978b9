"""What programs use: building a model, and running it on photographs."""

from sapiens2.apis.inferencer import Sapiens2Inferencer

__all__ = ['Sapiens2Inferencer']
