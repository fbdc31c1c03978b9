"""Hooks of mkdocs: pages of the repository outside docs/ belong to the site, other links out of it lead back there.

Markdown files are written to be read in the repository, where their relative links work. In the site, a link to a page
that is part of it leads to that page, and one to any other file or folder leads to the same path below ``repo_url``;
where no ``repo_url`` is set, its text and path are left.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any, Optional

ROOT = Path(__file__).resolve().parents[1]
# Pages outside docs/en, and the folder of the site they are put in.
OUTSIDE = ('configs/*/README.md', 'benchmarks/README.md', 'sapiens2/weights/README.md', 'projects/README.md',
           'projects/*/README.md', 'MODEL_CARD.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md')
FOLDER = 'repository'
_FENCE = re.compile(r'(^```.*?^```[^\n]*$)', re.MULTILINE | re.DOTALL)
_LINK = re.compile(r'(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)')


def outside_pages() -> list[str]:
    """Paths of the pages outside docs/en, relative to the repository."""
    return sorted(path.relative_to(ROOT).as_posix() for pattern in OUTSIDE for path in ROOT.glob(pattern))


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside docs/en."""
    from mkdocs.structure.files import File
    for path in outside_pages():
        files.append(File.generated(config, f'{FOLDER}/{path}', abs_src_path=str(ROOT / path)))
    return files


def _repository_path(src_uri: str) -> PurePosixPath:
    """Where a page of the site lies in the repository."""
    inside = src_uri.removeprefix(f'{FOLDER}/')
    return PurePosixPath(inside) if inside != src_uri else PurePosixPath('docs/en') / src_uri


def _site_path(path: str) -> Optional[str]:
    """Where a file of the repository lies in the site; None if it does not."""
    if path.startswith('docs/en/'):
        return path.removeprefix('docs/en/')
    return f'{FOLDER}/{path}' if path in outside_pages() else None


def rewritten(markdown: str, src_uri: str, repo_url: Optional[str], edit_uri: str) -> str:
    """``markdown`` of the page at ``src_uri`` with links that work in the site; code is left as it is."""
    folder = _repository_path(src_uri).parent

    def link(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        path, _, anchor = target.partition('#')
        if not path or re.match(r'[a-z][a-z+.-]*:', path):
            return match[0]
        place = os.path.normpath(folder / path)
        site = _site_path(place)
        if site is not None:
            relative = os.path.relpath(site, PurePosixPath(src_uri).parent)
            return f'{text}({relative}{"#" + anchor if anchor else ""})'
        if repo_url:
            return f'{text}({repo_url.rstrip("/")}/{edit_uri.strip("/")}/{place})'
        name = text.lstrip('!')[1:-1]
        return name if name.strip('`').endswith(PurePosixPath(place).name) else f'{name} (`{place}`)'

    parts = _FENCE.split(markdown)
    return ''.join(part if part.startswith('```') else _LINK.sub(link, part) for part in parts)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Make the links of one page work in the site."""
    return rewritten(markdown, page.file.src_uri, config.repo_url, config.extra['repository_files'])
