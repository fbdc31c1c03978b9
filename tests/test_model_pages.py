"""Pages of models: generated tables are up to date, metafiles hold every config, results say where they come from."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
METAFILES = sorted(ROOT.glob('configs/*/metafile.yml'))
_SPEC = importlib.util.spec_from_file_location('model_pages', ROOT / 'tools' / 'misc' / 'model_pages.py')
model_pages = importlib.util.module_from_spec(_SPEC)
sys.modules['model_pages'] = model_pages
_SPEC.loader.exec_module(model_pages)

every_metafile = pytest.mark.parametrize('path', METAFILES, ids=lambda path: path.parent.name)


def result(**changes: object) -> dict:
    """A result that is complete, but for ``changes``; None takes a field out."""
    entry = dict(Model='a', Dataset='d', Metric='m', Value=1, Source='measured', Command='c', Hardware='CPU', Seed=0,
                 Tolerance=0.5)
    entry.update(changes)
    return {field: value for field, value in entry.items() if value is not None}


def test_tables_are_what_their_sources_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert model_pages.main(['--check']) == 0, capsys.readouterr().err


def test_check_names_a_page_that_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / 'README.md'
    page.write_text('<!-- a -->\nold\n<!-- /a -->\n', encoding='utf-8')
    monkeypatch.setattr(model_pages, 'ROOT', tmp_path)
    monkeypatch.setattr(
        model_pages, 'pages', lambda: {page: model_pages.filled(page.read_text(encoding='utf-8'), {'a': 'new'}, 'x')})
    assert model_pages.main(['--check']) == 1
    assert 'README.md' in capsys.readouterr().err
    assert 'old' in page.read_text(encoding='utf-8')
    assert model_pages.main([]) == 0 and model_pages.main(['--check']) == 0
    assert page.read_text(encoding='utf-8') == '<!-- a -->\nnew\n<!-- /a -->\n'


@every_metafile
def test_a_metafile_holds_every_config_of_its_folder(path: Path) -> None:
    listed = [model['Config'] for model in yaml.safe_load(path.read_text(encoding='utf-8'))['Models']]
    assert sorted(listed) == sorted(leaf.relative_to(ROOT).as_posix() for leaf in path.parent.glob('*.py'))


@every_metafile
def test_results_are_complete(path: Path) -> None:
    metafile = yaml.safe_load(path.read_text(encoding='utf-8'))
    for entry in model_pages.check_results(metafile, path.name):
        assert entry['Metric'].split('/')[0] == path.parent.name


@pytest.mark.parametrize('changes, said', [
    (dict(Tolerance=None), 'Tolerance'), (dict(Command=None), 'Command'), (dict(Source='heard'), 'Source'),
    (dict(Source='published'), 'URL'), (dict(Model='b'), "'b'")])
def test_results_without_an_origin_are_refused(changes: dict, said: str) -> None:
    with pytest.raises(model_pages.MetafileError, match=said):
        model_pages.check_results(dict(Models=[dict(Name='a')], Results=[result(**changes)]), 'metafile.yml')


def test_a_page_without_markers_is_named() -> None:
    with pytest.raises(model_pages.MetafileError, match=r'README\.md.*<!-- a -->'):
        model_pages.filled('text', {'a': 'new'}, 'README.md')


@pytest.mark.parametrize('value, text', [(40_000, '40,000'), (5e-4, '5e-4'), (1.5e-3, '1.5e-3'), (0.85, '0.85'),
                                         (2.0, '2'), (None, '-')])
def test_numbers_are_as_readers_write_them(value: object, text: str) -> None:
    assert model_pages._number(value) == text
