"""Starts programs of the pages in a moment: a process that has imported what they import, and divides for each.

``python server.py SOCKET GENERATED`` listens; GENERATED will be a folder of generated people. The programs
``PROGRAMS``, in the readers' PATH, are clients (``CLIENT``). Each call of one runs in a process of its own, with the
folder, environment and streams of its client. ``given`` makes what its arguments name, ``load-config`` checks configs.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import sys
from pathlib import Path
from typing import Any

PROGRAMS = ('sapiens2', 'python', 'pip', 'given', 'load-config')
CLIENT = '''#!{python} -IS
import json, os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect({address!r})
socket.send_fds(link, [b'f'], [0, 1, 2])
request = dict(words=[os.path.basename(sys.argv[0]), *sys.argv[1:]], folder=os.getcwd(), environment=dict(os.environ))
link.sendall(json.dumps(request).encode() + b'\\n')
answer = link.recv(1)
sys.exit(answer[0] if answer else 'the program died')
'''


def listen(address: str) -> None:
    """Answer clients, each in a process, until the process group is ended."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen(64)
        print('listening', flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            link, _ = door.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                door.close()
                return _answer(link)
            link.close()


def _answer(link: socket.socket) -> None:
    from pages.serving import serve, stop
    from pages.shrink import verb_of
    _, streams, _, _ = socket.recv_fds(link, 1, 3)
    with link.makefile('rb') as lines:
        request = json.loads(lines.readline())
    folder, serving = Path(request['folder']), verb_of(request['words']) == 'serve'
    if serving:
        stop(folder)
    program = os.fork()
    if program == 0:
        link.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return _become(request)
    for stream in streams:
        os.close(stream)
    if serving:
        serve(program, folder, request['environment']['PAGE_PORT'], lambda code: link.sendall(bytes([code])))
    else:
        code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
        link.sendall(bytes([code & 255]))
    os._exit(0)


def _become(request: dict[str, Any]) -> None:
    """Be the program that the client asks for; leaves by SystemExit."""
    from pages.givens import provide
    from pages.shrink import shrunk
    os.chdir(request['folder'])
    os.environ.clear()
    os.environ.update(request['environment'])
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, 'w', buffering=1), open(2, 'w', buffering=1)
    name, *words = shrunk(request['words'])
    search = [entry for entry in os.environ.get('PYTHONPATH', '').split(':') if entry] + list(PACKAGES)
    # Examples of projects are read here as their own programs read them.
    sys.path[:] = search if name == 'sapiens2' else [os.getcwd(), *search]
    provide([name, *words])
    if name == 'given':
        sys.exit(0)
    if name == 'load-config':
        from pages.configs import load
        sys.exit(load(words[0]))
    sys.argv = words
    if name == 'sapiens2':
        from sapiens2.cli.main import main
        sys.exit(main(words))
    if name == 'pip':
        from pages.installs import check
        sys.exit(check(words))
    if words[0] in ('-m', '-c'):
        sys.path[:] = [os.getcwd(), *search]
        sys.argv = ['-' + words[0][1], *words[2:]]
        if words[0] == '-m':
            runpy.run_module(words[1], run_name='__main__', alter_sys=True)
        else:
            exec(compile(words[1], '<string>', 'exec'), {'__name__': '__main__'})  # noqa: S102
    else:
        sys.path[:] = [str(Path(words[0]).resolve().parent), *search]
        runpy.run_path(words[0], run_name='__main__')
    sys.exit(0)


if __name__ == '__main__':
    HERE = str(Path(__file__).resolve().parents[1])
    # What a program of its own would find: neither this folder nor the one the tests were started in.
    PACKAGES = [entry for entry in sys.path[1:] if entry and Path(entry) != Path(HERE)]
    sys.path[0] = HERE
    import pages.imported  # noqa: F401
    pages.givens.use(Path(sys.argv[2]))
    listen(sys.argv[1])
