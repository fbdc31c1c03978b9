"""Runs the page, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sapiens2.serve.settings import ServeSettings

LOOPBACK = ('127.0.0.1', 'localhost')
# Visitors whose pages Gradio remembers. It keeps some 0.1 to 0.4 MB of each, and by default of 10,000.
_SESSIONS = 200
# Read by Gradio when it is imported and when it takes a file.
_ENVIRONMENT = {'GRADIO_ANALYTICS_ENABLED': 'False'}


@contextmanager
def serving(settings: ServeSettings) -> Iterator[str]:
    """Serve the page while the body runs; yields its address. Afterwards all uploads and results are gone.

    Raises:
        ImportError: if Gradio is missing.
        CheckpointError, ValueError, FileNotFoundError: for a device, a dtype or weights that cannot be used.
        OSError: if the address cannot be listened at.
    """
    _check_free(settings.host, settings.port)
    with tempfile.TemporaryDirectory(prefix='sapiens2-serve-') as root, _environment(root):
        try:
            from starlette.middleware import Middleware
            from starlette.middleware.trustedhost import TrustedHostMiddleware

            from sapiens2.serve.headers import SafeHeaders
            from sapiens2.serve.page import Page
            from sapiens2.serve.style import CSS, theme
        except ImportError as error:
            raise ImportError(f'sapiens2 serve needs Gradio: pip install "sapiens2[serve]" ({error})') from error
        from sapiens2.serve.networks import Networks
        networks = Networks(settings.networks, settings.device, settings.dtype, settings.trust_exported)
        networks.check()
        blocks = Page(settings, networks, Path(root)).blocks
        middleware = [Middleware(SafeHeaders)]
        if settings.host in LOOPBACK:
            # A page elsewhere whose name is made to lead to this machine must not talk to it.
            middleware.append(Middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK)))
        ended = threading.Event()
        sweeper = threading.Thread(target=_sweep, args=(Path(root), settings.keep_seconds, ended), daemon=True)
        sweeper.start()
        try:
            _, url, _ = blocks.launch(
                server_name=settings.host, server_port=settings.port, share=False, quiet=True,
                prevent_thread_lock=True, max_file_size=settings.max_bytes, footer_links=[], ssr_mode=False,
                mcp_server=False, enable_monitoring=False, pwa=False, run_history=False, theme=theme(), css=CSS,
                state_session_capacity=_SESSIONS, app_kwargs={'middleware': middleware})
            yield url
        finally:
            networks.deadline.cancel()  # closing waits for what is being computed
            blocks.close(verbose=False)
            ended.set()
            sweeper.join()


def _check_free(host: str, port: int) -> None:
    """Gradio's own message names options that are not those of the command."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise OSError(f'cannot listen at {host}, port {port}: {error.strerror or error}. Choose another with --port '
                      'or --host') from error


def _sweep(folder: Path, age: float, ended: threading.Event) -> None:
    """Delete what is older than ``age`` seconds, again and again. Gradio's own deletion does not know all files."""
    while not ended.wait(min(30.0, age / 2)):
        oldest = time.time() - age
        for path in sorted(folder.rglob('*'), reverse=True):
            # Others write and move files meanwhile, and a folder with young files is not empty.
            with contextlib.suppress(OSError):
                if path.lstat().st_ctime < oldest:
                    path.rmdir() if path.is_dir() else path.unlink()


@contextmanager
def _environment(root: str) -> Iterator[None]:
    wanted = {**_ENVIRONMENT, 'GRADIO_TEMP_DIR': root}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
