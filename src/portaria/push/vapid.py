"""Who sends: the installation's VAPID key (RFC 8292), one signature per push service and half a day."""

import base64
import time
from typing import Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02, VapidException

_LIFETIME: Final = 12 * 3600


def generate_private_key() -> str:
    """A new private key, as the setting holds it: 32 bytes, base64url."""
    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _b64(number.to_bytes(32, "big"))


class Vapid:
    """Signs for push services. `subject`: how they reach us, a `mailto:` or `https:` address.

    Raises ValueError for a key or subject that cannot be used.
    """

    def __init__(self, private_key: str, subject: str) -> None:
        if not subject.startswith(("mailto:", "https://")):
            raise ValueError("the subject must be a mailto: or https: address")
        try:
            self._key = Vapid02.from_string(private_key)
            self.public_key = _b64(
                self._key.public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
            )
            self._subject = subject
            self._signed: dict[str, tuple[float, str]] = {}
            self.authorization("https://push.example/")
        except (VapidException, ValueError, TypeError) as error:
            raise ValueError("the VAPID key or its subject cannot be used") from error

    def authorization(self, endpoint: str) -> str:
        """The `Authorization` header for this endpoint's push service."""
        parts = urlsplit(endpoint)
        audience, now = f"{parts.scheme}://{parts.netloc}", time.time()
        until, header = self._signed.get(audience, (0.0, ""))
        if until - now < _LIFETIME / 2:
            until = now + _LIFETIME
            claims = {"aud": audience, "exp": int(until), "sub": self._subject}
            header = str(self._key.sign(claims)["Authorization"])
            self._signed[audience] = (until, header)
        return header


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
