"""A push service on loopback: counts what it is handed, can decrypt it, and answers as it is told."""

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from portaria.push import BrowserKeys, SubscriptionDraft


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@dataclass
class Device:
    """A browser that asked to be told: its address at the service and its keys."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    secret: bytes = b"0123456789abcdef"

    @property
    def p256dh(self) -> str:
        return b64(self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    @property
    def draft(self) -> SubscriptionDraft:
        return SubscriptionDraft(self.endpoint, BrowserKeys(self.p256dh, b64(self.secret)))

    def read(self, body: bytes) -> bytes:
        return bytes(
            http_ece.decrypt(body, private_key=self.key, auth_secret=self.secret, version="aes128gcm")
        )


@dataclass
class Got:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class PushService:
    """`status` by path (201 unless told); `hanging`: paths that never get an answer."""

    url: str = ""
    got: list[Got] = field(default_factory=list)
    status: dict[str, int] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)

    def device(self, name: str) -> Device:
        return Device(f"{self.url}/{name}")

    @property
    def topics(self) -> Counter[str]:
        """How often each event was handed in."""
        return Counter(got.headers["topic"] for got in self.got)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            path = head[0].split(" ")[1]
            self.got.append(Got(path, headers, body))
            if path in self.hanging:
                await reader.read()
            else:
                status = self.status.get(path, 201)
                location = "location: /elsewhere\r\n" if 300 <= status < 400 else ""
                writer.write(f"HTTP/1.1 {status} X\r\n{location}content-length: 0\r\n\r\n".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def push_service() -> AsyncIterator[PushService]:
    service = PushService()
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()
