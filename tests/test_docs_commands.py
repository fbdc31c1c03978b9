"""Every command and example of the documents is run, page by page, in order, as a reader would, at tiny scale.

What cannot be run here is marked in the page (``pages.blocks.MARKS``). How commands are made small is in
``pages.shrink``, what a reader is taken to have in ``pages.givens``. As this takes half an hour, the pages are run when
the environment variable SAPIENS2_TEST_PAGES is set.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages.blocks import Part, parts
from pages.server import CLIENT, PROGRAMS
from pages.serving import stop
from pages.shrink import ROOT, small_text, write_small_configs
from processes import free_port

PAGES = sorted([ROOT / 'README.md', *ROOT.glob('docs/en/**/*.md'), *ROOT.glob('configs/*/README.md'),
                *ROOT.glob('projects/*/README.md'), ROOT / 'sapiens2/weights/README.md', *ROOT.glob('benchmarks/*.md')])
LINKED = ('benchmarks', 'docs', 'projects', 'requirements', 'sapiens2', 'tests', 'tools', 'setup.py')
SECONDS = 600
runs_pages = pytest.mark.skipif(not os.environ.get('SAPIENS2_TEST_PAGES'), reason='SAPIENS2_TEST_PAGES is not set')
GENERATE = ['synth', '--num', '12', '--size', '96', '72', '--shards', '10', '--workers', '1',
            '--out', 'generated']


@pytest.fixture(scope='module')
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Programs, configs and generated people that all pages share."""
    root = tmp_path_factory.mktemp('reader')
    write_small_configs(root / 'configs')
    (root / 'bin').mkdir()
    address = root / 'programs'
    for name in PROGRAMS:
        program = root / 'bin' / name
        program.write_text(CLIENT.format(python=sys.executable, address=str(address)))
        program.chmod(0o755)
    server = subprocess.Popen([sys.executable, ROOT / 'tests/pages/server.py', address, root / 'generated'],
                              stdout=subprocess.PIPE, text=True, start_new_session=True,
                              env={**os.environ, 'OMP_NUM_THREADS': '1', 'CUDA_VISIBLE_DEVICES': ''})
    assert server.stdout.readline() == 'listening\n'
    # By -c, so that nothing is changed: only what pages say is made small.
    program = f'import sys; from sapiens2.cli.main import main; sys.exit(main({GENERATE}))'
    subprocess.run([root / 'bin/python', '-c', program], cwd=root, check=True)
    yield root
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()


@pytest.fixture
def folder(reader: Path, tmp_path: Path) -> Iterator[Path]:
    """What a reader works in: the checkout, with small configs."""
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(reader / 'configs', tmp_path / 'configs', symlinks=True)
    yield tmp_path
    stop(tmp_path)


def strings(text: str) -> list[str]:
    return [node.value for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def place_of_config(text: str, folder: Path) -> Path:
    """The folder in which the bases of a config are."""
    base = strings(text)[0]
    return next(place for place in [folder, *sorted((folder / 'configs').iterdir())] if (place / base).exists())


def script(page: Path, found: list[Part], folder: Path, port: int) -> str:
    """What bash runs: the commands of the page, and its examples as files."""
    # A failure is said and counted, and the page goes on, so that one run tells all that is wrong with it.
    lines = ['set -o pipefail', 'FAILED=0', """trap 'echo "$AT: FAILED: $BASH_COMMAND"; FAILED=1' ERR"""]
    for part in found:
        if part.mark is not None or part.kind in ('synopsis', 'fragment'):
            continue
        lines.append(f'AT={shlex.quote(f"{page.relative_to(ROOT)}:{part.line}")}; echo "== $AT"')
        if part.kind == 'command':
            if not re.search('sapiens2|python', part.text):  # of bash alone: nothing else makes what it reads
                lines.append(shlex.join(['given', *re.findall(r'[\w./-]+', part.text)]))
            lines.append(part.text.rstrip('\n'))
        elif part.kind == 'program':
            text = small_text(part.text).replace(':7860', f':{port}')
            (folder / f'example_{part.line}.py').write_text(text, encoding='utf-8')
            lines += [shlex.join(['given', *strings(text)]), f'python example_{part.line}.py']
        else:
            place = place_of_config(part.text, folder) / f'example_{part.line}.py'
            place.write_text(part.text, encoding='utf-8')
            lines.append(f'load-config {place.relative_to(folder)}')
    return '\n'.join([*lines, 'exit $FAILED']) + '\n'


def run(text: str, reader: Path, folder: Path, port: int) -> tuple[int, str]:
    """Exit code and output of a script."""
    environment = {**os.environ, 'PATH': f'{reader / "bin"}:{os.environ["PATH"]}', 'PAGE_PORT': str(port),
                   'OMP_NUM_THREADS': '1', 'CUDA_VISIBLE_DEVICES': ''}
    environment.pop('PYTHONPATH', None)
    with open(folder / 'log.txt', 'w+', encoding='utf-8') as log:
        done = subprocess.run(['bash', '-c', text], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                              stderr=subprocess.STDOUT, timeout=SECONDS)
        log.seek(0)
        return done.returncode, log.read()


@runs_pages
@pytest.mark.parametrize('page', [page for page in PAGES if parts(page)], ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_says_runs(page: Path, reader: Path, folder: Path) -> None:
    port = free_port()
    code, log = run(script(page, parts(page), folder, port), reader, folder, port)
    assert code == 0, log[-10_000:]


@runs_pages
def test_what_fails_is_named_and_the_rest_runs(reader: Path, folder: Path) -> None:
    page = ROOT / 'none.md'
    found = [Part('command', 'sapiens2 zoo sapiens3\n', 3, None),
             Part('command', 'pip install "sapiens2[nothing]"\n', 4, None),
             Part('program', 'import sapiens3\n', 9, None), Part('command', 'echo "at the end"\n', 12, None),
             Part('command', 'sapiens3\n', 13, 'a GPU')]
    code, log = run(script(page, found, folder, 0), reader, folder, 0)
    assert code == 1 and 'at the end' in log
    assert re.findall(r'^none.md:(\d+): FAILED', log, re.MULTILINE) == ['3', '4', '9']


@pytest.mark.parametrize('page', PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_marks_of_a_page_are_known(page: Path) -> None:
    parts(page)


@pytest.mark.parametrize('block, marks', [
    ('sapiens2 zoo  # needs a GPU\nsapiens2 zoo', ['a GPU', None]),
    ('# needs the network: for weights\nsapiens2 zoo \\\n    one\nsapiens2 zoo', ['the network: for weights'] * 2),
])
def test_marks(block: str, marks: list[str], tmp_path: Path) -> None:
    (tmp_path / 'page.md').write_text(f'```bash\n{block}\n```\n')
    assert [part.mark for part in parts(tmp_path / 'page.md')] == marks


def test_an_unknown_mark_is_an_error(tmp_path: Path) -> None:
    (tmp_path / 'page.md').write_text('A\n\n```bash\nsapiens2 zoo  # needs luck\n```\n')
    with pytest.raises(ValueError, match='page.md:4: unknown mark "needs luck"; known: a GPU'):
        parts(tmp_path / 'page.md')
