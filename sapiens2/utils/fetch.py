"""Content of an address that a user has given."""

from __future__ import annotations

import http.client
import string
import time
import urllib.error
import urllib.parse
import urllib.request

from sapiens2.utils.image_errors import ImageReadError
from sapiens2.version import __version__

# Longer files are refused, and servers that are silent for so long given up.
MAX_DOWNLOAD = 128 * 2**20
TIMEOUT_SECONDS = 30
# So long may a whole file take. One slow server must not hold up a run over many addresses.
LONGEST_SECONDS = 300
_PIECE = 2**20
_SCHEMES = ('http://', 'https://')


def is_address(text: str) -> bool:
    """Whether ``text`` is an address of the web."""
    return text.lower().startswith(_SCHEMES)


def split_address(url: str) -> urllib.parse.SplitResult:
    """``urlsplit``; of what is no address all is path, and who opens it says what is wrong."""
    try:
        return urllib.parse.urlsplit(url)
    except ValueError:
        return urllib.parse.SplitResult('', '', url, '', '')


def fetch(url: str) -> bytes:
    """The content at ``url``.

    Raises:
        ImageReadError: naming it, if it cannot be had, or is longer than ``MAX_DOWNLOAD`` bytes.
    """
    # Blanks and letters beyond ASCII as browsers send them.
    quoted = urllib.parse.quote(url, safe=string.punctuation)
    content, end = bytearray(), time.monotonic() + LONGEST_SECONDS
    try:
        # Some servers refuse the name that Python gives itself.
        request = urllib.request.Request(quoted, headers={'User-Agent': f'sapiens2/{__version__}'})
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            expected = answer.headers.get('Content-Length')
            while len(content) <= MAX_DOWNLOAD and (piece := answer.read1(_PIECE)):
                content += piece
                if time.monotonic() > end:
                    raise TimeoutError(f'after {LONGEST_SECONDS} s only {len(content):,} bytes have come')
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, 'reason', None) or error
        code = f'status {error.code}: ' if isinstance(error, urllib.error.HTTPError) else ''
        raise ImageReadError(url, f'cannot be downloaded: {code}{reason}') from error
    if len(content) > MAX_DOWNLOAD:
        raise ImageReadError(url, f'is longer than the limit of {MAX_DOWNLOAD:,} bytes')
    if expected is not None and expected.isdigit() and int(expected) > len(content):
        raise ImageReadError(url, f'ended after {len(content):,} of {int(expected):,} bytes')
    return bytes(content)
