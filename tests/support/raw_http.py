"""HTTP by hand over a socket: framings and mistakes that a client library would not make."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec


@dataclass(frozen=True)
class RawAnswer:
    """Status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
        await self.writer.drain()

    async def status(self, within: float = 10.0) -> int:
        """The status line alone."""
        async with asyncio.timeout(within):
            line = await self.reader.readline()
        assert line, "the connection ended without an answer"
        return int(line.split()[1])

    async def answer(self, *, within: float = 10.0, bodyless: bool = False) -> RawAnswer:
        """The next answer, interim ones not skipped; `bodyless` for an answer to HEAD."""
        status = await self.status(within)
        headers: dict[str, str] = {}
        async with asyncio.timeout(within):
            while (line := await self.reader.readline()) != b"\r\n":
                assert line, "the connection ended inside the headers"
                name, _, value = line.decode("latin1").partition(":")
                headers[name.lower()] = value.strip()
            length = 0 if bodyless or status < 200 else int(headers.get("content-length", "0"))
            body = await self.reader.readexactly(length)
        return RawAnswer(status, headers, body)

    async def ended(self, within: float = 10.0) -> bool:
        """Waits for the other side to close."""
        async with asyncio.timeout(within):
            return await self.reader.read(1) == b""


@asynccontextmanager
async def wire(url: str) -> AsyncIterator[Wire]:
    """A fresh connection to the server of `url`."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()


async def deliver(url: str, requests: Sequence[bytes], *, lines: int = 8) -> list[RawAnswer]:
    """Sends whole requests over a few connections, each one's without waiting; answers in their order."""

    async def one_line(mine: Sequence[bytes]) -> list[RawAnswer]:
        async with wire(url) as line:
            sending = asyncio.create_task(line.send(*mine))
            answers = [await line.answer(within=60.0) for _ in mine]
            await sending
            return answers

    parts = await asyncio.gather(*(one_line(requests[n::lines]) for n in range(lines)))
    return [parts[n % lines][n // lines] for n in range(len(requests))]


def head(method: str, path: str, headers: Mapping[str, str] | None = None, *more: bytes) -> bytes:
    """Request line and headers; `more` are whole header lines as bytes."""
    lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: localhost"]
    lines += [f"{name}: {value}".encode() for name, value in (headers or {}).items()]
    return b"\r\n".join([*lines, *more]) + b"\r\n\r\n"


def chunked(*parts: bytes) -> bytes:
    """A body in these chunks, with its end."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
