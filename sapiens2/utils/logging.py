"""Records for the log file alone: what is too long for a screen on which a run goes by."""

from __future__ import annotations

from mmengine.logging import MMLogger

# Attribute of such a record: ``logger.info(text, extra=FILE_ONLY)``. ``Sapiens2Runner`` does not show it.
FILE_ONLY = {'file_only': True}


def log_details(text: str) -> None:
    """Write ``text`` to the log file of the run at work, if there is one."""
    MMLogger.get_current_instance().info(text, extra=FILE_ONLY)
