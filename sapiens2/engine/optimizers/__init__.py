"""Parameter groups, mixed precision, and an optimizer that needs little memory."""

from sapiens2.engine.optimizers.autocast import BFloat16OptimWrapper
from sapiens2.engine.optimizers.layer_decay import LayerDecayOptimWrapperConstructor
from sapiens2.engine.optimizers.low_memory import adamw_8bit

__all__ = ['BFloat16OptimWrapper', 'LayerDecayOptimWrapperConstructor', 'adamw_8bit']
