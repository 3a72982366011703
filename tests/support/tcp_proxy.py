"""A TCP proxy in front of the tests' PostgreSQL, to cut a connection at a chosen moment.

It lives in the test's own event loop; the server itself listens on a Unix socket only.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class TcpProxy:
    """Forwards bytes both ways. `url` is the given one, by way of the proxy."""

    def __init__(self, url: str) -> None:
        self._upstream = conninfo_to_dict(url)
        self._original = url
        self._marker: bytes | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._lines: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.cut_done = asyncio.Event()

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
        for line in self._lines:
            line.transport.abort()

    def cut_after(self, marker: bytes) -> None:
        """The next request that holds `marker` reaches the server and is done; its answer is lost with
        the connection. Sets `cut_done`."""
        self.cut_done.clear()
        self._marker = marker

    def hold(self, holding: bool = True) -> None:
        """While holding, nothing that the server says comes through: a server that does not answer."""
        if holding:
            self._flowing.clear()
        else:
            self._flowing.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = f"{self._upstream['host']}/.s.PGSQL.{self._upstream['port']}"
        up_reader, up_writer = await asyncio.open_unix_connection(path)
        self._lines |= {writer, up_writer}
        lose = asyncio.Event()
        ways = [
            asyncio.create_task(self._forth(reader, up_writer, lose)),
            asyncio.create_task(self._back(up_reader, writer, lose)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for line in (writer, up_writer):
                line.transport.abort()
                self._lines.discard(line)
            await asyncio.gather(*ways, return_exceptions=True)

    async def _forth(
        self, reader: asyncio.StreamReader, up_writer: asyncio.StreamWriter, lose: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                if self._marker is not None and self._marker in data:
                    self._marker = None
                    lose.set()
                up_writer.write(data)
                await up_writer.drain()

    async def _back(
        self, up_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lose: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while data := await up_reader.read(65_536):
                if lose.is_set():
                    self.cut_done.set()
                    return
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
