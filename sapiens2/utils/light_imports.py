"""MMEngine as the command needs it: without packages that it imports only to register their optimizers, which makes
the start quick, and with a short log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# MMEngine registers ``Adafactor`` of the one and ``bnb_...`` of the other wherever they are installed, which takes
# seconds at every start. Here ``TorchAdafactor`` and ``AdamW8bit`` (sapiens2.engine.optimizers) take their place.
_OPTIMIZER_PACKAGES = ('transformers', 'bitsandbytes')


def import_mmengine() -> None:
    """Import MMEngine's optimizers, as a program that needs MMEngine does sooner or later, without those packages; and
    let what is logged outside of a run, too, go to the error stream in short lines."""
    with not_importable(*_OPTIMIZER_PACKAGES):
        import mmengine.optim  # noqa: F401
    from mmengine.logging import MMLogger

    from sapiens2.utils.console import shorten_console
    shorten_console(MMLogger.get_current_instance())


@contextmanager
def not_importable(*packages: str) -> Iterator[None]:
    """Imports of ``packages`` fail as if they were not installed, in all threads; what is imported already stays."""
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # None there is Python's way to say so
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
