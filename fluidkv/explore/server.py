"""The page on this machine alone: bound to 127.0.0.1, one address, no log."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fluidkv.errors import InputError

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_LOOKED_AT = 100  # ports above one that is taken
_FULL_S = 0.1  # until a connection is tried again that there was no descriptor for


class LoopbackServer(ThreadingHTTPServer):
    """Serves one page to this machine.

    Args:
        page: HTML.
        port: on 127.0.0.1; 0 takes any that is free.

    Raises:
        InputError: the port is taken, or not this user's to take.
    """

    daemon_threads = True
    request_queue_size = 128  # connections that wait; the system may allow fewer
    # On Windows it would let two servers share a port; elsewhere it only forgets the one before.
    allow_reuse_address = os.name == "posix"

    def __init__(self, page: str, port: int) -> None:
        self.page = page.encode()
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise _refused(port, error) from None

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return super().get_request()
        except OSError:  # no descriptor is left: the connection stays, and would be asked at once
            time.sleep(_FULL_S)
            raise

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def answers_to(self, host: str) -> bool:
        """Whether a request means this server.

        A name of someone else's that leads here (DNS rebinding) would let their page read ours.
        """
        return host in {f"{name}:{self.server_port}" for name in _NAMES} or (
            self.server_port == 80 and host in _NAMES
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30  # s; a connection that says nothing is closed

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        assert isinstance(self.server, LoopbackServer)
        path, hosts = self.path.partition("?")[0], self.headers.get_all("Host", [])
        if len(hosts) != 1:
            status, body = HTTPStatus.BAD_REQUEST, b"a request names one host\n"
        elif not self.server.answers_to(hosts[0]):
            status, body = HTTPStatus.MISDIRECTED_REQUEST, b"this server answers to 127.0.0.1\n"
        elif path != "/":
            status, body = HTTPStatus.NOT_FOUND, b"there is one page here: /\n"
        else:
            status, body = HTTPStatus.OK, self.server.page
        kind = "text/html" if status is HTTPStatus.OK else "text/plain"
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        # The policy in the page cannot say this.
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal has the address, and stays readable."""


def serve(page: str, port: int, started: Callable[[str], None]) -> None:
    """Serve until the process is interrupted.

    Args:
        page: HTML.
        port: on 127.0.0.1.
        started: told the address once it answers.

    Raises:
        InputError: as `LoopbackServer`.
    """
    with LoopbackServer(page, port) as server:
        started(server.url)
        server.serve_forever()


def _refused(port: int, error: OSError) -> InputError:
    if isinstance(error, PermissionError):
        return InputError("port", port, "a port from 1024 on")
    free = next_free(port)
    more = f"a port that is free, such as {free}" if free else "a port that is free"
    return InputError("port", port, more)


def next_free(port: int) -> int | None:
    """The next port above that nobody listens on; None if there is none near."""
    for candidate in range(port + 1, min(port + _LOOKED_AT, 65536)):
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            if os.name == "posix":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
            except OSError:
                continue
            return candidate
    return None
