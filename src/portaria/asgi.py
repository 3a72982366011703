"""The few pieces of raw ASGI that the doors in front of the framework share (design 2).

A door parses, calls one verb, answers; every refusal is a problem document with `code` (spec 6).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain
from typing import Any, Final, Protocol

import msgspec
import structlog

from portaria.errors import Refusal, problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]

_JSON: Final = (b"content-type", b"application/json")
_PROBLEM: Final = (b"content-type", b"application/problem+json")
_CLOSE: Final = (b"connection", b"close")
_DRAIN_BYTES: Final = 128 * 1024 * 1024
_DRAIN_SECONDS: Final = 5.0
_SMALL: Final = 64 * 1024
log = structlog.get_logger()


DIRECT: Final = "portaria.direct"
"""In a request's extensions: the server's `Direct`, where it is our own."""


class Direct(Protocol):
    """What our server can do for a request besides messages, whose handling is much of an answer's cost."""

    def whole_body(self) -> bytes | None:
        """The body, if all of it is here already; None: `receive` has it."""

    def send_whole(self, status: int, head: bytes, body: bytes) -> bool:
        """Sends a whole answer in one write, `head` being its header lines. False: by messages, then."""


class ClientGone(Exception):
    """The client closed the connection before its request was whole: there is nobody to answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a JSON document and further headers."""

    status: int
    document: Mapping[str, object]
    headers: tuple[tuple[bytes, bytes], ...] = field(default=())


def refuse(refusal: Refusal) -> Answer:
    """A refusal as its problem document."""
    headers = tuple((k.lower().encode(), v.encode()) for k, v in refusal.headers.items())
    document = problem(refusal.status, refusal.code, refusal.detail)
    return Answer(refusal.status, document, headers)


def method_not_allowed(allowed: str) -> Refusal:
    return Refusal(405, "method_not_allowed", f"Use {allowed}.", {"Allow": allowed})


def unavailable(detail: str, seconds: int = 10) -> Refusal:
    """503 with Retry-After: nothing was promised, come again."""
    return Refusal(503, "unavailable", detail, {"Retry-After": str(seconds)})


def header_map(headers: Headers) -> dict[bytes, bytes]:
    """Headers by lower-case name; of a repeated one the first, but every content encoding."""
    found = dict(headers)
    if len(found) == len(headers) and b"".join(found).islower():
        return found  # nearly always: a server hands names over in lower case, each once
    found = {}
    for name, value in headers:
        lower = name.lower()
        if lower not in found:
            found[lower] = value
        elif lower == b"content-encoding":
            found[lower] += b", " + value
    return found


def check_size(headers: Headers, *, header_limit: int) -> None:
    """431 when names and values exceed `header_limit` bytes in sum."""
    if sum(map(len, chain.from_iterable(headers))) > header_limit:
        raise Refusal(431, "headers_too_large", f"Headers must not exceed {header_limit} bytes.")


def check_encoding(headers: Mapping[bytes, bytes]) -> None:
    """415 for any content encoding but identity: what is verified are the bytes on the wire."""
    if b"content-encoding" not in headers:
        return
    codings = headers[b"content-encoding"].lower().split(b",")
    if any(coding.strip() not in (b"", b"identity") for coding in codings):
        raise Refusal(415, "content_encoding", "Send the body without a content encoding.")


def too_large(limit: int) -> Refusal:
    return Refusal(413, "body_too_large", f"The body must not exceed {limit} bytes.")


@dataclass(slots=True)
class Reading:
    """Bytes held of bodies that are still arriving, over all requests of a door.

    Past `limit` large bodies get 503, so that many slow ones cannot fill the memory; what is small
    still comes in.
    """

    limit: int
    held: int = 0

    def hold(self, part: int, size: int) -> None:
        """Counts a part of a body that has grown to `size` bytes."""
        if self.held + part > self.limit and size > _SMALL:
            raise unavailable("Too many large bodies are arriving at once.", 5)
        self.held += part


async def read_body(
    headers: Mapping[bytes, bytes],
    receive: Receive,
    *,
    limit: int,
    within: float,
    reading: Reading | None = None,
) -> bytes:
    """The whole body, by any framing. Refuses with 413 over `limit` bytes, 408 after `within` seconds,
    503 when `reading` is full.

    A length that is announced too large is refused before anything is asked for. Raises `ClientGone`.
    """
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and int(announced[:20]) > limit:
        raise too_large(limit)
    reading = reading or Reading(limit)
    whole = receive.whole() if isinstance(receive, _Incoming) else None
    if whole is not None:
        if len(whole) > limit:
            raise too_large(limit)
        reading.hold(len(whole), len(whole))
        reading.held -= len(whole)
        return whole
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(within):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                part = message.get("body", b"")
                if size + len(part) > limit:
                    raise too_large(limit)
                reading.hold(len(part), size + len(part))
                size += len(part)
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts) if len(parts) > 1 else part
    except TimeoutError:
        raise Refusal(408, "body_too_slow", f"The body must arrive within {within:g} seconds.") from None
    finally:
        # A refusal is answered while it still holds this frame: the body must not stay with it.
        parts.clear()
        reading.held -= size


def whole_answer(answer: Answer) -> bytes:
    """The bytes of an answer as HTTP/1.1, for whoever answers before the server has parsed anything."""
    body = msgspec.json.encode(answer.document)
    status = b"HTTP/1.1 %d %s\r\n" % (answer.status, HTTPStatus(answer.status).phrase.encode())
    return status + _head(answer, len(body)) + b"\r\n" + body


def _head(answer: Answer, body_length: int) -> bytes:
    kind = _PROBLEM if answer.status >= 400 else _JSON
    head = b"%s: %s\r\ncontent-length: %d\r\n" % (*kind, body_length)
    for header in answer.headers:
        head += b"%s: %s\r\n" % header
    return head


async def respond(send: Send, answer: Answer) -> None:
    """Sends the whole answer."""
    body = msgspec.json.encode(answer.document)
    if isinstance(send, _Outgoing) and send.whole(answer.status, _head(answer, len(body)), body):
        return
    await _start(send, answer, len(body), closing=False)
    await send({"type": "http.response.body", "body": body})


async def respond_unread(
    headers: Mapping[bytes, bytes], receive: Receive, send: Send, answer: Answer
) -> None:
    """Answers a request whose body was not read, and closes.

    What is still on its way is drained within bounds, so that the client reads the answer and not a
    reset; a client that waits for `100 Continue` is told at once and sends nothing.
    """
    body = msgspec.json.encode(answer.document)
    await _start(send, answer, len(body), closing=True)
    if headers.get(b"expect", b"").lower() != b"100-continue":
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await _drain(receive)
        body = b""
    await send({"type": "http.response.body", "body": body})


async def _start(send: Send, answer: Answer, body_length: int, *, closing: bool) -> None:
    kind = _PROBLEM if answer.status >= 400 else _JSON
    headers = [kind, (b"content-length", b"%d" % body_length), *answer.headers]
    if closing:
        headers.append(_CLOSE)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})


class _Incoming:
    """A request's `receive` that knows when nothing more comes: asking then would wait for ever."""

    def __init__(self, receive: Receive, direct: Direct | None = None) -> None:
        self._receive, self._direct, self.ended = receive, direct, False

    def whole(self) -> bytes | None:
        """The body, if all of it is here already; asked before the first message."""
        body = None if self._direct is None else self._direct.whole_body()
        self.ended = body is not None
        return body

    async def __call__(self) -> Message:
        message = await self._receive()
        self.ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message


class _Outgoing:
    """A request's `send` that knows whether an answer has begun."""

    def __init__(self, send: Send, direct: Direct | None) -> None:
        self._send, self._direct, self.started = send, direct, False

    def whole(self, status: int, head: bytes, body: bytes) -> bool:
        """Whether the whole answer was sent at once."""
        self.started = self._direct is not None and self._direct.send_whole(status, head, body)
        return self.started

    async def __call__(self, message: Message) -> None:
        self.started = True
        await self._send(message)


async def _drain(receive: Receive) -> None:
    incoming = receive if isinstance(receive, _Incoming) else _Incoming(receive)
    drained, ends = 0, asyncio.get_running_loop().time() + _DRAIN_SECONDS
    try:
        while not incoming.ended and drained < _DRAIN_BYTES:
            async with asyncio.timeout_at(ends):
                drained += len((await incoming()).get("body", b""))
    except TimeoutError:
        return


class Front:
    """The doors in front of the framework, by path prefix; everything else is the framework's.

    `running` is entered before the first request and left after the last. `refuse_unread` is asked by the
    protocol about bytes that it has not parsed: the whole answer, where there is too much to do. `endless`:
    paths whose answers have no end of their own; a server that stops does not wait for them.
    """

    def __init__(
        self,
        doors: Mapping[str, App],
        framework: App,
        running: Callable[[], AbstractAsyncContextManager[None]],
        *,
        header_limit: int,
        refuse_unread: Callable[[bytes], bytes | None] = lambda data: None,
        endless: frozenset[str] = frozenset(),
    ) -> None:
        self.refuse_unread, self.endless = refuse_unread, endless
        self._doors, self._framework, self._running = tuple(doors.items()), framework, running
        self._header_limit = header_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        path: str = scope.get("path", "")
        for prefix, door in self._doors:
            if path.startswith(prefix):
                await _guarded(door, scope, receive, send)
                return
        if scope["type"] == "http":
            try:
                check_size(scope["headers"], header_limit=self._header_limit)
            except Refusal as refusal:
                await respond_unread(header_map(scope["headers"]), receive, send, refuse(refusal))
                return
        await self._framework(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._running())
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


async def _guarded(door: App, scope: Scope, receive: Receive, send: Send) -> None:
    """A bug behind a door is logged with its trace and answered as a problem document too (spec 6)."""
    direct = scope.get("extensions", {}).get(DIRECT)
    outgoing = _Outgoing(send, direct)
    try:
        await door(scope, _Incoming(receive, direct), outgoing)
    except Exception as error:
        log.error("door_failed", path=scope.get("path"), exc_info=error)
        if outgoing.started:
            raise
        bug = refuse(Refusal(500, "internal_error", "The fault is ours."))
        body = msgspec.json.encode(bug.document)
        await _start(send, bug, len(body), closing=True)
        await send({"type": "http.response.body", "body": body})
