"""The server: one page, on this machine alone, under its own name."""

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.explore.server import HOST, LoopbackServer, next_free

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("hosts", [[], ["{own}", "evil.example"], ["evil.example", "{own}"]])
def test_a_request_names_one_host(server, hosts: list[str]):
    """Whoever stands between may look at another of two than we do."""
    own = f"{HOST}:{server.server_port}"
    lines = [f"Host: {each.format(own=own)}" for each in hosts]
    with socket.create_connection((HOST, server.server_port), timeout=10) as connection:
        asking = "\r\n".join(["GET / HTTP/1.1", *lines, "Connection: close", "", ""])
        connection.sendall(asking.encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"page" not in answer


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of descriptors here")
def test_out_of_descriptors_it_waits_for_one():
    """It then answers who has waited; asking without a pause took all of a processor."""
    code = (
        "import os, resource, socket, threading, time\n"
        "from fluidkv.explore.server import LoopbackServer\n"
        "server = LoopbackServer('<p>page</p>', 0)\n"
        "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "waiting = socket.create_connection(server.server_address)\n"
        "time.sleep(0.2)\n"
        "used = len(os.listdir('/proc/self/fd'))\n"
        "limits = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "late = socket.socket()\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (used, limits[1]))\n"
        "late.connect(server.server_address)\n"
        "began = time.process_time()\n"
        "time.sleep(0.5)\n"
        "print(time.process_time() - began < 0.1)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, limits)\n"
        "host = f'127.0.0.1:{server.server_port}'\n"
        "late.sendall(f'GET / HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n'.encode())\n"
        "print(late.recv(15).decode())\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines() == ["True", "HTTP/1.1 200 OK"], done.stderr


def test_many_connections_may_wait():
    with LoopbackServer("", 0) as server:  # nobody takes them up
        waiting = [socket.socket() for _ in range(50)]
        for each in waiting:
            each.settimeout(0.5)
            each.connect(server.server_address)
        for each in waiting:
            each.close()


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
