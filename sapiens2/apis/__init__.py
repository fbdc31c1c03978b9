"""What programs use: building a model, and running it on photographs."""

from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.apis.init_model import init_model

__all__ = ['Sapiens2Inferencer', 'init_model']
