"""HTTP/1.1 as uvicorn speaks it, but an offer to upgrade is passed over as RFC 9110 allows.

Its parser takes whatever follows such a head for another protocol, and the request would go on without its
body: a good delivery would be refused for its signature, for good. Java's client makes that offer (`h2c`) on
every plain connection.

And a head has an end: uvicorn keeps whatever comes of one, for as long as it takes, so that anybody could
fill the memory with a single request, or hold every connection with none.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from portaria.asgi import DIRECT

_FRAMING: Final = (b"content-length", b"transfer-encoding")

HEAD_BYTES: Final = 256 * 1024
"""A request line with its headers is never longer than this and what was read with it; then 431. What is
shorter, and still too long, is refused by the doors in words.
"""
HEAD_WITHIN: Final = 30.0
"""Seconds from a connection's first moment, or a head's first byte, to the head's end; then 408."""


def _refuse_nothing(data: bytes) -> bytes | None:
    return None


class PlainHttp(HttpToolsProtocol):
    """uvicorn's protocol without upgrades, whose heads end; no websocket is served here."""

    _in_head = False
    _in_body = False
    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _refuse_unread: Callable[[bytes], bytes | None]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._refuse_unread = getattr(self.config.app, "refuse_unread", _refuse_nothing)
        self._head_timer = self.loop.call_later(HEAD_WITHIN, self._give_up_head)

    def shutdown(self) -> None:
        """What has no end of its own is cut off: its browser asks anew by itself."""
        endless: frozenset[str] = getattr(self.config.app, "endless", frozenset())
        if self.cycle is not None and self.cycle.scope["path"] in endless:
            self.transport.close()
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        super().on_headers_complete()
        self.scope["extensions"] = {DIRECT: _Direct(self.cycle)}  # type: ignore[dict-item]

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._between() and (answer := self._refuse_unread(data)) is not None:
            self._answer_unread(answer)
            return
        self._feed(data)
        if self._in_head:
            self._await_head(len(data))
        elif not self._in_body and (self.cycle is None or self.cycle.response_complete):
            self._await_head(0)  # blank lines, which are no request
        elif self._head_timer is not None:
            self._head_came()

    def _between(self) -> bool:
        """Whether the next byte is the first of a request."""
        return not (self._in_head or self._in_body or self._head_bytes or self.pipeline) and (
            self.cycle is None or self.cycle.response_complete
        )

    def _answer_unread(self, answer: bytes) -> None:
        """Too much to do: what a request costs must not be spent on refusing it."""
        self._unset_keepalive_if_required()
        self._head_came()
        self.transport.write(answer)
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _await_head(self, came: int) -> None:
        self._head_bytes += came
        if self._head_bytes > HEAD_BYTES:
            self._end(431, "The request's headers are too large.")
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_WITHIN, self._give_up_head)

    def _head_came(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up_head(self) -> None:
        if self._in_head:
            self._end(408, "The request's headers did not come in time.")
        else:
            self.transport.close()

    def _end(self, status: int, why: str) -> None:
        """The server's own answer: there is no request to hand on."""
        if not self.transport.is_closing():
            head = b"content-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(why)
            self.transport.write(STATUS_LINE[status] + head + why.encode())
            self.transport.close()

    def _feed(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                data = data[offer.args[0] :]
                self._pass_over_offer()
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return
            else:
                return

    def _pass_over_offer(self) -> None:
        """Goes on with a fresh parser that is past a head of the same framing: the request has begun."""
        past_head = _PastHead(self)
        self.parser = httptools.HttpRequestParser(past_head)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        framing = [b"%s: %s\r\n" % (name, value) for name, value in self.headers if name in _FRAMING]
        if framing:
            self.cycle.more_body = True
            self.parser.feed_data(b"".join([b"POST / HTTP/1.1\r\n", *framing, b"\r\n"]))
        past_head.silent = False


class _Direct:
    """`asgi.Direct`: what uvicorn's `receive` and `send` do, for a request that needs neither twice."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    def whole_body(self) -> bytes | None:
        cycle = self._cycle
        if cycle.more_body or cycle.waiting_for_100_continue or cycle.disconnected or cycle.response_complete:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        cycle.message_event.clear()
        cycle.flow.resume_reading()
        return body

    def send_whole(self, status: int, head: bytes, body: bytes) -> bool:
        cycle = self._cycle
        if cycle.disconnected or cycle.response_started or cycle.flow.write_paused:
            return False
        if cycle.scope["method"] == "HEAD":
            return False
        cycle.response_started, cycle.waiting_for_100_continue = True, False
        ours = b"".join([b"%s: %s\r\n" % header for header in cycle.default_headers])
        closing = b"" if cycle.keep_alive else b"connection: close\r\n"
        cycle.transport.write(b"".join((STATUS_LINE[status], ours, head, closing, b"\r\n", body)))
        cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True


class _PastHead:
    """A parser's callbacks: those of a head are kept from the protocol while `silent`."""

    def __init__(self, protocol: PlainHttp) -> None:
        self.silent = True
        self.on_body, self.on_message_complete = protocol.on_body, protocol.on_message_complete
        self.on_message_begin = self._unless_silent(protocol.on_message_begin)
        self.on_url = self._unless_silent(protocol.on_url)
        self.on_header = self._unless_silent(protocol.on_header)
        self.on_headers_complete = self._unless_silent(protocol.on_headers_complete)

    def _unless_silent(self, callback: Callable[..., None]) -> Callable[..., None]:
        def called(*values: Any) -> None:
            if not self.silent:
                callback(*values)

        return called
