"""The site of the documents: every page is in it, links out of it lead to the repository."""

from __future__ import annotations

import contextlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_SPEC = importlib.util.spec_from_file_location('docs_hooks', ROOT / 'docs' / 'hooks.py')
hooks = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(hooks)
URL = 'https://example.org/me/sapiens2/'


@pytest.mark.parametrize('source, page, expected', [
    ('[data](datasets.md#pose)', 'user_guides/train.md', '[data](datasets.md#pose)'),
    ('[speed](../../../benchmarks/README.md#a)', 'user_guides/train.md',
     '[speed](../repository/benchmarks/README.md#a)'),
    ('[4K](../../docs/en/advanced_guides/4k.md)', 'repository/configs/seg/README.md',
     '[4K](../../../advanced_guides/4k.md)'),
    ('[leaf](a.py)', 'repository/configs/seg/README.md', f'[leaf]({URL}blob/main/configs/seg/a.py)'),
    ('[web](https://arxiv.org/abs/1)', 'index.md', '[web](https://arxiv.org/abs/1)'),
    ('[here](#there)', 'index.md', '[here](#there)'),
    ('```python\nx[0](a.py)\n```', 'index.md', '```python\nx[0](a.py)\n```'),
])
def test_links_are_rewritten(source: str, page: str, expected: str) -> None:
    assert hooks.rewritten(source, page, URL, 'blob/main') == expected


def test_without_an_address_the_path_is_shown() -> None:
    assert hooks.rewritten('[leaf](a.py)', 'repository/configs/seg/README.md', '', 'blob/main') == (
        'leaf (`configs/seg/a.py`)')


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r'([\w/.-]+\.md)$', (ROOT / 'mkdocs.yml').read_text(encoding='utf-8'), re.MULTILINE)
    pages = [path.relative_to(ROOT / 'docs' / 'en').as_posix() for path in (ROOT / 'docs' / 'en').rglob('*.md')]
    assert sorted(listed) == sorted([*pages, *(f'{hooks.FOLDER}/{path}' for path in hooks.outside_pages())])


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip('material')
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    build(load_config(str(ROOT / 'mkdocs.yml'), strict=True, site_dir=str(tmp_path)))
    page = (tmp_path / 'repository' / 'configs' / 'seg' / 'index.html').read_text(encoding='utf-8')
    assert 'mIoU_percent' in page


@pytest.mark.parametrize('link', ['missing.md', 'other.md#missing', 'other.md'])
def test_a_link_that_leads_nowhere_stops_the_build(link: str, tmp_path: Path) -> None:
    pytest.importorskip('material')
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort
    (tmp_path / 'docs').mkdir()
    (tmp_path / 'docs/index.md').write_text(f'# Home\n\n[page]({link})\n')
    (tmp_path / 'docs/other.md').write_text('# Other\n')
    config = load_config(str(ROOT / 'mkdocs.yml'), strict=True, docs_dir=str(tmp_path / 'docs'), hooks=[],
                         nav=['index.md', 'other.md'], site_dir=str(tmp_path / 'site'))
    with pytest.raises(Abort) if 'missing' in link else contextlib.nullcontext():
        build(config)
