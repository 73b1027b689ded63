"""Running the explorer: its socket, the server, the browser, and a clean stop."""

import contextlib
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from leadline import claims
from leadline.data.sources.cache import cache_directory
from leadline.evidence import BadInput

from ..known_findings import KnownFindings
from ..pages.site import Site
from ..runs import Runs
from .app import create_app
from .guard import Hosts
from .studies import StudyReports

PORT = 8765
_NEXT_PORTS = 100
_CONNECTIONS = 500


def serve(
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    names: Sequence[str] = (),
    studies: Sequence[Path] = (),
    findings: Path | None = None,
    jobs: int = 2,
    timeout: float = 120.0,
    open_browser: bool = False,
) -> None:
    """Serve the explorer until Ctrl-C or SIGTERM. Without a `port` it is 8765, or the next one that is free."""
    reports = StudyReports(studies)
    with _bound_socket(host, port) as listener:
        hosts = Hosts(host, listener.getsockname()[1], tuple(names))
        if not hosts.local:
            print("Warning: anyone who can reach this machine can run checks on it.", file=sys.stderr, flush=True)
        claims.load()
        known = KnownFindings(findings, cache_directory() / "explorer" / "findings.jsonl")
        runs = Runs(slots=jobs, timeout=timeout, known=known)
        print(f"Leadline's explorer: {hosts.address} (Ctrl-C stops it)", flush=True)
        if open_browser:
            _open(hosts.address)
        _Server(create_app(Site(known), runs, reports, hosts), runs).run_until_stopped(listener)


class _Server(uvicorn.Server):
    """Uvicorn, with streams that are told when it stops: it would wait for them and then complain."""

    def __init__(self, app, runs: Runs):
        # Without a configuration of its own for logging, which would close the handlers of other libraries.
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self._runs = runs

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._runs.stop()
        await super().shutdown(sockets)

    def run_until_stopped(self, listener: socket.socket) -> None:
        """Run; the signal that stops the server, which Uvicorn raises again at the end, is not an error."""
        before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.run([listener])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _bound_socket(host: str, port: int | None) -> socket.socket:
    """A socket that listens already, so that a browser that comes early waits instead of failing."""
    candidates = [port] if port is not None else range(PORT, PORT + _NEXT_PORTS)
    for candidate in candidates:
        with contextlib.suppress(_Taken):
            return _listening(host, candidate)
    if port is not None:
        raise BadInput(f"Port {port} is taken; choose another --port, or leave it out for one that is free.")
    raise BadInput(f"The ports {PORT} to {PORT + _NEXT_PORTS - 1} are all taken; choose another --port.")


class _Taken(Exception):
    pass


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise BadInput(f"There is no address {host}; give one of this machine, such as 127.0.0.1.") from None
    try:
        if os.name == "posix":  # elsewhere it would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise _Taken from None
        reason = error.strerror or error
        raise BadInput(f"Cannot listen on {host}, port {port} ({reason}); choose another --host or --port.") from None
    return listener


def _open(address: str) -> None:
    """Show the page in the user's browser; not in one that would take the terminal."""
    import webbrowser

    graphical = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if graphical:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
