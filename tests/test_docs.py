"""What the documents say: links lead somewhere, no placeholders are left, commands parse, examples run."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import types
import unicodedata
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mmengine.config import Config, ConfigDict

from sapiens2.cli.main import VERBS, build_parser

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md'), *ROOT.glob('configs/**/*.md'),
                    *ROOT.glob('projects/**/*.md'), *ROOT.glob('benchmarks/*.md'), *ROOT.glob('sapiens2/**/*.md')])
# Pages whose Python examples that import something can be run as they are; they need no weights and no data.
RUNNABLE = ('faq.md', 'add_head.md', 'add_dataset.md')
ANNOTATED = ROOT / 'docs' / 'en' / 'advanced_guides' / 'annotated_config.md'
_FENCE = re.compile(r'^ *```.*?^ *``` *$', re.MULTILINE | re.DOTALL)
_LINK = re.compile(r'\]\(([^)\s]+)(?: "[^"]*")?\)')
# Words in capitals stand for values in commands. Numbers, where one is parsed.
_PLACEHOLDERS = {'N': '4', 'H': '1024', 'W': '768', 'GPUS': '8', 'TASK': 'seg'}

every_document = pytest.mark.parametrize('document', DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def prose(document: Path) -> str:
    """The text without blocks of code."""
    return _FENCE.sub('', document.read_text(encoding='utf-8'))


def links(document: Path) -> list[str]:
    return _LINK.findall(re.sub(r'`[^`\n]*`', '', prose(document)))


def anchors(document: Path) -> tuple[set[str], set[str]]:
    """Anchors of the headings, as the pages of a repository have them, and as the site does."""
    headings = re.findall(r'^#+ +(.+?) *$', prose(document), re.MULTILINE)
    texts = [re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).replace('`', '') for heading in headings]
    repository = {re.sub(r'[^\w\- ]', '', text.lower()).replace(' ', '-') for text in texts}
    ascii_texts = [unicodedata.normalize('NFKD', text).encode('ascii', 'ignore').decode() for text in texts]
    site = {re.sub(r'[-\s]+', '-', re.sub(r'[^\w\s-]', '', text).strip().lower()) for text in ascii_texts}
    return repository, site


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf'^```{language}\n(.*?)^```', document.read_text(encoding='utf-8'), re.MULTILINE | re.DOTALL)


def commands(document: Path) -> list[str]:
    """Lines of the bash blocks, continued ones joined."""
    joined = '\n'.join(blocks(document, 'bash')).replace('\\\n', ' ')
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith('#')]


def verb_words(command: str) -> list[list[str]]:
    """The arguments of each call of sapiens2 in a line, the verb first; without comments and redirections."""
    parts: list[list[str]] = [[]]
    for word in shlex.split(command, comments=True):
        if word in ('&&', '|', ';'):
            parts.append([])
        else:
            parts[-1].append(word)
    calls = []
    for words in parts:
        while words and re.fullmatch(r'[A-Z][A-Z0-9_]*=.*', words[0]):
            words = words[1:]
        if words[:1] == ['sapiens2']:
            words = words[1:]
        elif len(words) > 1 and words[0] == 'python' and words[1] in ('tools/train.py', 'tools/test.py'):
            words = [Path(words[1]).stem, *words[2:]]
        elif words[:2] == ['bash', 'tools/dist_train.sh']:
            words = ['train', words[2], *words[4:]]
        else:
            continue
        cut = next((i for i, word in enumerate(words) if word in ('>', '>>', '&') or word.startswith('2>')), len(words))
        calls.append([_PLACEHOLDERS.get(word, word) for word in words[:cut] if word != '...'])
    return calls


def parser_of(verb: str) -> argparse.ArgumentParser:
    actions = build_parser()._actions
    return next(action for action in actions if isinstance(action, argparse._SubParsersAction)).choices[verb]


def option_names(parser: argparse.ArgumentParser) -> set[str]:
    """Options of a verb and of what stands below it."""
    names = {name for action in parser._actions for name in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names |= {name for below in action.choices.values() for name in option_names(below)}
    return names


@every_document
def test_relative_links_lead_to_files_and_headings(document: Path) -> None:
    wrong = []
    for link in links(document):
        path, _, anchor = link.partition('#')
        if urlsplit(link).scheme:
            continue
        target = document.parent / path if path else document
        if not target.exists():
            wrong.append(f'{link}: no such file')
        elif anchor and not all(anchor in known for known in anchors(target)):
            wrong.append(f'{link}: no such heading')
    assert not wrong


@every_document
def test_external_links_are_addresses(document: Path) -> None:
    for link in links(document):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme in ('http', 'https') and re.fullmatch(r'[\w-]+(\.[\w-]+)+', parts.netloc), link


@every_document
def test_no_placeholder_is_left(document: Path) -> None:
    assert not re.findall(r'@[A-Z_]+@|TODO|FIXME|XXX', document.read_text(encoding='utf-8'))


@every_document
def test_files_in_commands_exist(document: Path) -> None:
    for line in commands(document):
        for path in re.findall(r'(?<![\w/])(?:tools|configs|benchmarks|projects|requirements)/[\w./-]+\.(?:py|sh|txt)',
                               line):
            if 'TASK' not in path:
                assert (ROOT / path).exists(), line


@every_document
def test_commands_parse(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = build_parser()
    for line in commands(document):
        if re.search(r'\[-|\[[A-Z]|\|[a-z]', line.partition('#')[0]):  # a synopsis: its options must exist
            verb = re.match(r'(?:python tools/|sapiens2 )([a-z]+)', line)
            if verb and verb[1] in VERBS:
                assert set(re.findall(r'(?<![\w-])--[a-z][\w-]*', line)) <= option_names(parser_of(verb[1])), line
            continue
        for words in verb_words(line):
            try:
                parser.parse_args(words)
            except SystemExit as stop:
                assert stop.code == 0, f'{line}\n{capsys.readouterr().err}'


@every_document
def test_python_examples_are_python(document: Path) -> None:
    for block in blocks(document, 'python'):
        ast.parse(block)


@pytest.mark.parametrize('document', [path for path in DOCUMENTS if path.name in RUNNABLE], ids=lambda path: path.name)
def test_python_examples_run_and_print_what_they_say(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runnable = [block for block in blocks(document, 'python') if re.match(r'import |from ', block)]
    assert runnable
    for block in runnable:
        exec(compile(block, str(document), 'exec'), {'__name__': 'example'})  # noqa: S102
        printed = capsys.readouterr().out
        for line in block.splitlines():
            said = re.match(r"print\(.*\)  # (.*)", line)
            numbers = re.findall(r'\d+', said[1]) if said else []
            assert all(number in printed for number in numbers), f'{line} printed {printed}'


@pytest.mark.parametrize('base', re.findall(r'^## `(_base_/.+)`$', ANNOTATED.read_text(encoding='utf-8'), re.MULTILINE))
def test_the_annotated_config_is_the_real_one(base: str) -> None:
    section = ANNOTATED.read_text(encoding='utf-8').split(f'## `{base}`')[1].split('\n## ')[0]
    config = Config.fromfile(ROOT / 'configs' / base)
    said: dict[str, object] = {'_base_': types.SimpleNamespace(image_size=config.get('image_size'))}
    exec(re.search(r'```python\n(.*?)```', section, re.DOTALL)[1], said)  # noqa: S102
    names = set(said) - {'_base_', '__builtins__'}
    assert names
    for name in names:
        expected = config[name]
        assert ConfigDict(x=said[name]).x == expected, name
