"""Names of files for text that comes from elsewhere: an address, or what a person has written."""

from __future__ import annotations

import re

# What Windows refuses in names, or takes for a folder, a drive or a stream of a file; and control characters.
_REFUSED = re.compile(r'[<>:"|?*\\/\x00-\x1f\x7f]')
# It drops dots and blanks at the end of a name.
_TRAILING = re.compile(r'[. ]+$')
# Its devices, with whatever ending.
_DEVICE = re.compile(r'(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?= *(?:\.|$))', re.IGNORECASE)


def portable_name(name: str) -> str:
    """``name`` as the name of one file or folder on any system: what some system refuses or reads as something else is
    written %XX, as in addresses. Names that all systems take are as they were."""
    name = _REFUSED.sub(_escape, name)
    if device := _DEVICE.match(name):
        name = f'{device[0][:-1]}{_escape(device[0][-1])}{name[device.end():]}'
    return _TRAILING.sub(lambda end: ''.join(map(_escape, end[0])), name)


def _escape(found: str | re.Match[str]) -> str:
    character = found if isinstance(found, str) else found[0]
    return ''.join(f'%{byte:02X}' for byte in character.encode())
