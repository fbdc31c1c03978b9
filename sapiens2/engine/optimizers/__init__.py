"""Parameter groups and mixed precision."""

from sapiens2.engine.optimizers.autocast import BFloat16OptimWrapper
from sapiens2.engine.optimizers.layer_decay import LayerDecayOptimWrapperConstructor

__all__ = ['BFloat16OptimWrapper', 'LayerDecayOptimWrapperConstructor']
