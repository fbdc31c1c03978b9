"""Content of an address that a user has given."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

from sapiens2.utils.image_errors import ImageReadError
from sapiens2.version import __version__

# Longer files are refused, and servers that are silent for so long given up.
MAX_DOWNLOAD = 128 * 2**20
TIMEOUT_SECONDS = 30
_SCHEMES = ('http://', 'https://')


def is_address(text: str) -> bool:
    """Whether ``text`` is an address of the web."""
    return text.lower().startswith(_SCHEMES)


def fetch(url: str) -> bytes:
    """The content at ``url``.

    Raises:
        ImageReadError: naming it, if it cannot be had, or is longer than ``MAX_DOWNLOAD`` bytes.
    """
    # Some servers refuse the name that Python gives itself.
    request = urllib.request.Request(url, headers={'User-Agent': f'sapiens2/{__version__}'})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            content = answer.read(MAX_DOWNLOAD + 1)
            expected = answer.headers.get('Content-Length')
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, 'reason', None) or error
        code = f'status {error.code}: ' if isinstance(error, urllib.error.HTTPError) else ''
        raise ImageReadError(url, f'cannot be downloaded: {code}{reason}') from error
    if len(content) > MAX_DOWNLOAD:
        raise ImageReadError(url, f'is longer than the limit of {MAX_DOWNLOAD:,} bytes')
    if expected is not None and expected.isdigit() and int(expected) > len(content):
        raise ImageReadError(url, f'ended after {len(content):,} of {int(expected):,} bytes')
    return content
