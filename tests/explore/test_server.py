"""The server: one page, on this machine alone, under its own name."""

import http.client
import socket
import threading
from collections.abc import Iterator

import pytest

from fluidkv.errors import InputError
from fluidkv.explore.server import HOST, LoopbackServer, next_free


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer("<p>page</p>", 0) as started:
        thread = threading.Thread(target=started.serve_forever)
        thread.start()
        yield started
        started.shutdown()
        thread.join()


def asked(
    server: LoopbackServer, method: str, path: str, host: str | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(HOST, server.server_port)
    try:
        connection.request(method, path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def test_it_listens_on_loopback_alone(server):
    assert server.server_address[0] == "127.0.0.1"


def test_it_has_one_page_whatever_is_asked_behind_it(server):
    for path in ("/", "/?theme=dark"):
        answer, body = asked(server, "GET", path)
        assert (answer.status, body) == (200, b"<p>page</p>")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"


def test_head_has_no_body(server):
    answer, body = asked(server, "HEAD", "/")
    assert (answer.status, answer.headers["Content-Length"], body) == (200, "11", b"")


@pytest.mark.parametrize("path", ["/etc/passwd", "/../x", "/favicon.ico"])
def test_anything_else_is_not_there(server, path):
    assert asked(server, "GET", path)[0].status == 404


def test_it_does_not_answer_to_a_name_of_others(server):
    """A name of theirs that leads here would let their page read ours."""
    port = server.server_port
    for host in ("evil.example", f"evil.example:{port}", HOST, f"{HOST}:{port + 1}"):
        assert asked(server, "GET", "/", host)[0].status == 421
    for host in (f"{HOST}:{port}", f"localhost:{port}"):
        assert asked(server, "GET", "/", host)[0].status == 200


def test_a_post_is_refused(server):
    assert asked(server, "POST", "/")[0].status == 501


def test_a_port_in_use_is_said_with_the_next_free_one(server):
    with pytest.raises(InputError) as refused:
        LoopbackServer("", server.server_port)
    free = next_free(server.server_port)
    assert refused.value.argument == "port"
    assert refused.value.allowed == f"a port that is free, such as {free}"
    assert free is not None
    with socket.socket() as probe:
        probe.bind((HOST, free))


def test_there_is_no_port_behind_the_last():
    assert next_free(65535) is None
