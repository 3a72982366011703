"""HTTP by hand, and hardly HTTP: what no client library would send. Answered 4xx or closed, never a fault,
and never two answers where one request was meant (smuggling).
"""

import contextlib
import socket

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.target import INSTALLATION, Target, share

DOOR = INSTALLATION.encode()
HOST = b"Host: localhost\r\n"
POST = b"POST " + DOOR + b" HTTP/1.1\r\n" + HOST
GOOD = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"


def exchange(target: Target, raw: bytes, *, within: float) -> bytes:
    """Everything the server says to `raw`: it closes, or begins within so many seconds and falls silent."""
    target.inputs += 1
    said = b""
    with socket.create_connection(("127.0.0.1", target.port), timeout=within) as line:
        with contextlib.suppress(ConnectionError, TimeoutError):
            line.sendall(raw)
        with contextlib.suppress(ConnectionError, TimeoutError):
            while part := line.recv(65_536):
                said += part
                line.settimeout(0.25)
    return said


def statuses(said: bytes) -> list[int]:
    """The status of every answer in it."""
    return [int(line.split()[1]) for line in said.split(b"\r\n") if line.startswith(b"HTTP/1.")]


REFUSED = {
    "nothing": b"\r\n\r\n",
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
    "HTTP/2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    "HTTP/0.9": b"GET /healthz\r\n",
    "another version": b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n",
    "a method of its own": b"FROB /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "a method of bytes": b"\xff\xfe /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "a space in the target": b"GET /heal thz HTTP/1.1\r\n" + HOST + b"\r\n",
    "a header without a colon": POST + b"X-Nothing\r\nContent-Length: 2\r\n\r\n{}",
    "a space before the colon": POST + b"Content-Length : 2\r\n\r\n{}",
    "NUL in a header": POST + b"X: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
    "a bare CR in a header": POST + b"X: a\rb\r\nContent-Length: 2\r\n\r\n{}",
    "a negative length": POST + b"Content-Length: -2\r\n\r\n{}",
    "a signed length": POST + b"Content-Length: +2\r\n\r\n{}",
    "a length in hex": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "a length beyond everything": POST + b"Content-Length: 99999999999999999999999\r\n\r\n{}",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "a list of lengths": POST + b"Content-Length: 2, 3\r\n\r\n{} ",
    "a length and chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GOOD,
    "chunks and a length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + GOOD,
    "chunks that are not last": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + GOOD,
    "an encoding of its own": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + GOOD,
    "a hidden encoding": POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + GOOD,
    "a chunk of no size": POST + b"Transfer-Encoding: chunked\r\n\r\n\r\n{}\r\n0\r\n\r\n" + GOOD,
    "a chunk of a negative size": POST + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n" + GOOD,
    "a chunk beyond everything": POST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}",
    "a folded header": POST + b"Content-Length: 2\r\n 0\r\n\r\n{}",
    "one line without end": b"GET /" + b"a" * 2_000_000,
    "headers without end": b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 100_000,
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_request_is_refused_once_or_not_answered(target: Target, what: str) -> None:
    """Whatever follows in the same bytes must not pass for a request of its own."""
    answered = statuses(exchange(target, REFUSED[what], within=1.0))
    assert all(400 <= status < 500 for status in answered), answered
    assert len(answered) <= 1, answered


SERVED = {
    "an absolute target": (b"GET http://localhost/healthz HTTP/1.1\r\n" + HOST + b"\r\n", {200, 404}),
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", {200, 400}),
    "two hosts": (b"GET /healthz HTTP/1.1\r\n" + HOST + b"Host: elsewhere\r\n\r\n", {200, 400}),
    "a host of bytes": (b"GET /healthz HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", {200, 400}),
    "HTTP/1.0": (b"GET /healthz HTTP/1.0\r\n\r\n", {200}),
    "lines ended by LF alone": (b"GET /healthz HTTP/1.1\nHost: localhost\n\n", {200, 400}),
    "an asterisk": (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", {200, 204, 400, 404, 405}),
    "NUL in the path": (b"GET /leads%00 HTTP/1.1\r\n" + HOST + b"\r\n", {400, 401, 404, 303}),
    "dots in the path": (b"GET /static/..%2f..%2fsettings.py HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "more dots": (b"GET /static/x/../../../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "broken percent signs": (b"GET /leads/%zz%f HTTP/1.1\r\n" + HOST + b"\r\n", {400, 401, 404, 303}),
    "bytes in the path": (b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "a cookie of bytes": (
        b"GET / HTTP/1.1\r\n" + HOST + b"Cookie: portaria=\xff\xfe; =; a\r\n\r\n", {303, 401, 400},
    ),
    "a thousand headers": (
        b"GET /healthz HTTP/1.1\r\n" + HOST + b"".join(b"X-%d: y\r\n" % n for n in range(1000)) + b"\r\n",
        {200, 431, 400},
    ),
    "chunk extensions and trailers": (
        POST + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX-Trailer: y\r\n\r\n", {401, 400},
    ),
    "a body with GET": (b"GET /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{}", {200}),
}  # fmt: skip


@pytest.mark.parametrize("what", SERVED)
def test_what_is_odd_gets_one_answer(target: Target, what: str) -> None:
    raw, wanted = SERVED[what]
    answered = statuses(exchange(target, raw, within=20.0))
    assert len(answered) == 1, answered
    assert answered[0] in wanted


def test_bytes_that_are_no_http(target: Target) -> None:
    tokens = st.sampled_from(
        [b"POST ", DOOR, b" HTTP/1.1\r\n", HOST, b"\r\n", b"\r\n\r\n", b"Content-Length: ", b"2", b"0",
         b": ", b"\x00", b"Transfer-Encoding: chunked\r\n", b"GET /healthz HTTP/1.1\r\n", b"{}", b"\xff",
         b"Expect: 100-continue\r\n", b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
         b"Connection: close\r\n", b" ", b"\t"]
    )  # fmt: skip

    @settings(max_examples=share(0.05))
    @given(st.binary(max_size=300) | st.lists(tokens, max_size=12).map(b"".join))
    def send(raw: bytes) -> None:
        assert all(status < 500 for status in statuses(exchange(target, raw, within=0.2)))

    send()


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /", b"a" * 65_536),
        (b"GET / HTTP/1.1\r\nX: ", b"a" * 65_536),
        (b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 10_000),
        (GOOD + b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 10_000),
    ],
)
def test_a_head_without_end_is_ended(target: Target, begin: bytes, more: bytes) -> None:
    """Sixty megabytes of it would otherwise stay in the memory, for whoever asks."""
    process = psutil.Process(target.processes["web"].pid)
    before = process.memory_info().rss
    with socket.create_connection(("127.0.0.1", target.port), timeout=20) as line:
        line.sendall(begin)
        with pytest.raises(ConnectionError):
            line.sendall(more * 1000)
    assert process.memory_info().rss - before < 20_000_000


def test_a_head_just_below_the_bound_is_refused_in_words(target: Target) -> None:
    headers = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 1000) for n in range(200))
    said = exchange(target, b"GET /healthz HTTP/1.1\r\n" + HOST + headers + b"\r\n", within=20.0)
    assert statuses(said) == [431]
    assert b"application/problem+json" in said
    said = exchange(target, b"GET /healthz HTTP/1.1\r\n" + HOST + 2 * headers + b"\r\n", within=20.0)
    assert statuses(said) in ([431], [])
