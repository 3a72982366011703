"""Where a push may go. The address comes from a browser, so from anybody: it must not reach what only
this machine can reach (SSRF). The name is resolved once, every address is judged, and the connection
goes to the judged address, with the name for TLS: what the name means later does not matter.
"""

import asyncio
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

_NAT64: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


class EndpointRefused(ValueError):
    """This address may not be pushed to; the message says why, and holds no address."""


@dataclass(frozen=True, slots=True)
class Target:
    """A judged address: where to connect, and the name to say."""

    url: str
    host: str
    server_name: str


@dataclass(frozen=True, slots=True)
class Reach:
    """What may be pushed to: https services on the open internet; `anything` lifts that, for tests."""

    anything: bool = False

    def check(self, endpoint: str) -> SplitResult:
        """The parts of an address that may be stored. Raises `EndpointRefused`."""
        try:
            parts = urlsplit(endpoint)
            port = parts.port
        except ValueError:
            raise EndpointRefused("not an address") from None
        if not parts.hostname or not endpoint.isascii() or any(c <= " " for c in endpoint):
            raise EndpointRefused("not an address")
        if self.anything:
            return parts
        if parts.scheme != "https" or port not in (None, 443):
            raise EndpointRefused("a push service is reached by https at its usual port")
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise EndpointRefused("an address without a name, password or fragment, please")
        if _is_address(parts.hostname):
            raise EndpointRefused("a push service has a name")
        return parts

    async def resolve(self, endpoint: str) -> Target:
        """The address to connect to. Raises `EndpointRefused`, or OSError when the name is unknown."""
        parts = self.check(endpoint)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = parts.hostname or ""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [ip_address(str(entry[4][0])) for entry in found]
        if not self.anything and not all(_is_open(address) for address in addresses):
            raise EndpointRefused("this name leads to a network that is not the internet")
        to = f"[{addresses[0]}]" if isinstance(addresses[0], IPv6Address) else str(addresses[0])
        path = parts.path or "/"
        query = f"?{parts.query}" if parts.query else ""
        return Target(f"{parts.scheme}://{to}:{port}{path}{query}", parts.netloc, host)


THE_INTERNET: Final = Reach()


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        # 127.1, 0x7f.1, 2130706433: addresses to some resolvers. A name's last label has a letter.
        return not any(c.isalpha() for c in host.rstrip(".").rpartition(".")[2]) or "0x" in host
    return True


def _is_open(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner or any(address in network for network in _NAT64):
            return False
    return address.is_global and not address.is_multicast
