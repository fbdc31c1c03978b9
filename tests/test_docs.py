"""What the documents say: links lead somewhere, no placeholders are left, commands and configs exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sapiens2.cli.main import VERBS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md'), *ROOT.glob('configs/**/*.md'),
                    *ROOT.glob('benchmarks/*.md')])
pytestmark = pytest.mark.parametrize('document', DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def test_relative_links_lead_to_files(document):
    links = re.findall(r'\]\(([^)#\s]+)[^)]*\)', document.read_text(encoding='utf-8'))
    missing = [link for link in links if '://' not in link and not (document.parent / link).exists()]
    assert not missing


def test_no_placeholder_is_left(document):
    assert not re.findall(r'@[A-Z_]+@|TODO|FIXME|XXX', document.read_text(encoding='utf-8'))


def test_commands_and_files_in_them_exist(document):
    text = document.read_text(encoding='utf-8')
    for block in re.findall(r'```bash\n(.*?)```', text, re.DOTALL):
        for line in block.splitlines():
            verb = re.match(r'sapiens2 ([a-z]+)', line)
            assert not verb or verb[1] in VERBS, line
            for path in re.findall(r'\b(?:tools|configs|benchmarks)/[\w./-]+\.(?:py|sh)', line):
                assert (ROOT / path).exists(), line
