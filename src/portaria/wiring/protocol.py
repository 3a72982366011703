"""HTTP/1.1 as uvicorn speaks it, but an offer to upgrade is passed over as RFC 9110 allows.

Its parser takes whatever follows such a head for another protocol, and the request would go on without its
body: a good delivery would be refused for its signature, for good. Java's client makes that offer (`h2c`) on
every plain connection.
"""

from collections.abc import Callable
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_FRAMING: Final = (b"content-length", b"transfer-encoding")


class PlainHttp(HttpToolsProtocol):
    """uvicorn's protocol without upgrades; no websocket is served here."""

    def data_received(self, data: bytes) -> None:
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
