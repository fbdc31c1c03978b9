"""Say what a file that is not what was asked for really is."""

from __future__ import annotations

# (offset, bytes, name), first match wins.
_MAGIC = (
    (0, b'version https://git-lfs', 'a Git-LFS pointer, not the file itself: run `git lfs pull` in its repository'),
    (0, b'%PDF', 'a PDF document'),
    (0, b'PK\x03\x04', 'a ZIP archive'),
    (0, b'\x1f\x8b', 'a gzip archive'),
    (0, b'7z\xbc\xaf', 'a 7z archive'),
    (0, b'Rar!', 'a RAR archive'),
    (0, b'\x1a\x45\xdf\xa3', 'a video (Matroska or WebM)'),
    (0, b'\x00\x00\x01\xba', 'a video (MPEG)'),
    (0, b'\x00\x00\x01\xb3', 'a video (MPEG)'),
    (0, b'FLV\x01', 'a video (FLV)'),
    (0, b'OggS', 'a video or sound (Ogg)'),
    (8, b'AVI ', 'a video (AVI)'),
    (8, b'WAVE', 'a sound (WAVE)'),
    (4, b'ftypheic', 'a HEIC picture: convert it to JPEG or PNG'),
    (4, b'ftypheix', 'a HEIC picture: convert it to JPEG or PNG'),
    (4, b'ftypmif1', 'a HEIF picture: convert it to JPEG or PNG'),
    (4, b'ftypavif', 'an AVIF picture that this Pillow cannot decode: convert it to JPEG or PNG'),
    (4, b'ftyp', 'a video (MP4 or MOV)'),
    (0, b'\x93NUMPY', 'a NumPy array'),
    (0, b'\x76\x2f\x31\x01', 'an OpenEXR picture'),
    (0, b'8BPS', 'a Photoshop document'),
)
# Two answers of ``describe_content``.
JSON_TEXT, UNKNOWN = 'a JSON text', 'of an unknown kind'
_HTML = (b'<!doctype html', b'<html', b'<head', b'<body')


def describe_content(content: bytes) -> str:
    """Name the kind of ``content`` (the first kilobyte is enough), as in 'it is ...'."""
    if not content:
        return 'empty (0 bytes)'
    for offset, magic, kind in _MAGIC:
        if content.startswith(magic, offset):
            return kind
    if not content[:512].strip(b'\x00'):
        return 'filled with zero bytes: the copy or download did not finish'
    start = content[:1024].lstrip(b'\xef\xbb\xbf \t\r\n').lower()
    if start.startswith(_HTML):
        return 'an HTML page: the download returned a web page in place of the file'
    if b'<svg' in start:
        return 'an SVG drawing: export it to PNG'
    if start.startswith((b'{', b'[')) and b'\x00' not in start:
        return JSON_TEXT
    return 'a text file' if _is_text(content[:1024]) else UNKNOWN


def _is_text(content: bytes) -> bool:
    """Whether all of ``content`` decodes as UTF-8 without control characters; its last character may be cut."""
    text = content.decode('utf-8', errors='replace').rstrip('\ufffd')
    return '\ufffd' not in text and all(character.isprintable() or character in '\t\r\n\f\ufeff' for character in text)
