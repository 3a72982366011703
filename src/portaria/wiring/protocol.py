"""HTTP/1.1 as uvicorn speaks it, but an offer to upgrade is passed over as RFC 9110 allows.

Its parser takes whatever follows such a head for another protocol, and the request would go on without its
body: a good delivery would be refused for its signature, for good. Java's client makes that offer (`h2c`) on
every plain connection.
"""

from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_FRAMING: Final = (b"content-length", b"transfer-encoding")


class PlainHttp(HttpToolsProtocol):
    """uvicorn's protocol without upgrades; no websocket is served here."""

    _silent = False

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
        """A fresh parser that is past a head of the same framing; the request itself has been begun."""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        framing = [b"%s: %s\r\n" % (name, value) for name, value in self.headers if name in _FRAMING]
        if framing:
            self.cycle.more_body = True
            self._silent = True
            self.parser.feed_data(b"".join([b"POST / HTTP/1.1\r\n", *framing, b"\r\n"]))
            self._silent = False

    def on_message_begin(self) -> None:
        if not self._silent:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._silent:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._silent:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._silent:
            super().on_headers_complete()
