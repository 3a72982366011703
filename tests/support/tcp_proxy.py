"""A TCP proxy in front of the tests' PostgreSQL, to cut or silence a connection at a chosen moment.

It lives in an event loop of the test's; the server itself listens on a Unix socket only.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_KEY_DATA = b"K\x00\x00\x00\x0c"


class Line:
    """One connection through the proxy. `backend` is the server process behind it, once it said so."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client, self.server = client, server
        self.backend: int | None = None
        self.loses_answer = False
        self.heard = asyncio.Event()
        self.heard.set()

    def cut(self) -> None:
        """Ends it now, both ways, without a word."""
        self.heard.set()
        self.client.transport.abort()
        self.server.transport.abort()

    def silence(self) -> None:
        """From now on neither side hears the other; both believe that they are connected."""
        self.heard.clear()


class TcpProxy:
    """Forwards bytes both ways. `url` is the given one, by way of the proxy."""

    def __init__(self, url: str) -> None:
        self._upstream = conninfo_to_dict(url)
        self._original = url
        self._marker: bytes | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.lines: set[Line] = set()
        self._server: asyncio.Server | None = None
        self.cut_done = asyncio.Event()
        self.cuts_done = 0

    @property
    def url(self) -> str:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return make_conninfo(self._original, host="127.0.0.1", port=port, sslmode="disable")

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Ends every connection now, without a word."""
        for line in self.lines:
            line.cut()

    def cut_after(self, marker: bytes | None) -> None:
        """The next request that holds `marker` reaches the server and is done; its answer is lost with
        the connection. Sets `cut_done`. None: not any more."""
        self.cut_done.clear()
        self._marker = marker

    def hold(self, holding: bool = True) -> None:
        """While holding, nothing comes through, either way: a server that is silent."""
        if holding:
            self._flowing.clear()
        else:
            self._flowing.set()

    def leads_to(self, backend: int) -> bool:
        """Whether this server process works for a client of this proxy."""
        return any(line.backend == backend for line in self.lines)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = f"{self._upstream['host']}/.s.PGSQL.{self._upstream['port']}"
        try:
            up_reader, up_writer = await asyncio.open_unix_connection(path)
        except OSError:
            writer.transport.abort()
            return
        line = Line(writer, up_writer)
        self.lines.add(line)
        ways = [
            asyncio.create_task(self._forth(reader, up_writer, line)),
            asyncio.create_task(self._back(up_reader, writer, line)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            line.cut()
            self.lines.discard(line)
            await asyncio.gather(*ways, return_exceptions=True)

    async def _forth(self, reader: asyncio.StreamReader, up_writer: asyncio.StreamWriter, line: Line) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                await line.heard.wait()
                await self._flowing.wait()
                if self._marker is not None and self._marker in data:
                    self._marker = None
                    line.loses_answer = True
                up_writer.write(data)
                await up_writer.drain()

    async def _back(self, up_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: Line) -> None:
        with suppress(OSError):
            while data := await up_reader.read(65_536):
                await line.heard.wait()
                if line.loses_answer:
                    self.cuts_done += 1
                    self.cut_done.set()
                    return
                if line.backend is None and (at := data.find(_KEY_DATA)) >= 0:
                    line.backend = int.from_bytes(data[at + 5 : at + 9], "big")
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[TcpProxy]:
    """A proxy in front of `url`, until the block ends."""
    proxy = TcpProxy(url)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
