"""What a visitor is told when there is no result. The texts hold no path of the server."""

from __future__ import annotations


class Refused(ValueError):
    """There is no result, for a reason that the visitor can mend; its text is shown on the page."""


class TookTooLong(RuntimeError):
    """The time for one picture is up. No ``ValueError``, which would count as a fault of the picture."""
