"""`leadline serve` as a process of its own, and ways to ask it."""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path


class Explorer:
    """A server in a process of its own."""

    def __init__(self, directory: Path, *words: str):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "leadline", "serve", "--port", "0", "--no-open", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=directory,
            env=os.environ | {"LEADLINE_CACHE": str(directory / "cache")},
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background have it ignored
        )
        self.said = self.process.stdout.readline()
        self.port = int(re.search(r":(\d+)/", self.said)[1])

    def stop(self) -> None:
        """End it and all its processes, whatever they do."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def raw(self, request: bytes) -> bytes:
        """The answer to bytes that no client would send."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(request.replace(b"HOST", b"Host: 127.0.0.1:%d" % self.port))
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def relatives(self) -> list[int]:
        """The processes of its session, itself included."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # one that has just ended
                _, _, _, session, *_ = stat.read_text().rpartition(")")[2].split()
                found += [int(stat.parent.name)] if int(session) == self.process.pid else []
        return found
