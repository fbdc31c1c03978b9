"""Reports in one file: what they hold, and that texts stay texts."""

from __future__ import annotations

import base64
import re

import cv2
import numpy as np

from sapiens2.visualization.html_report import commands, heading, page, paragraph, pictures, table


def test_texts_are_escaped():
    text = page('a < b', [heading('<h>'), paragraph('x & y', note=True), commands(['run "a" > b']),
                          table(('<c>',), [('1 < 2',), ('name',)], '<caption>')])
    assert 'a &lt; b' in text and '&lt;h&gt;' in text and 'x &amp; y' in text and '&gt; b' in text
    assert '<td class="number">1 &lt; 2</td>' in text and '<td>name</td>' in text


def test_pictures_are_inside():
    picture = np.zeros((16, 12, 3), np.uint8)
    picture[..., 2] = 200
    text = pictures(('picture', 'truth'), [('first', (picture, 'none'))])
    content, = re.findall(r'base64,([^"]+)"', text)
    shown = cv2.imdecode(np.frombuffer(base64.b64decode(content), np.uint8), cv2.IMREAD_COLOR)
    assert shown.shape == picture.shape and abs(int(shown[8, 6, 2]) - 200) < 5
    assert 'alt="first: picture"' in text and '<td>none</td>' in text
