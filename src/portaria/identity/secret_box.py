"""What one setting, the secret key, protects: channel secrets at rest, and the keys of our signatures.

Every use has a key of its own, derived from the setting with HKDF, so that none can stand in for
another. A rotated setting goes on decrypting what older keys wrote.
"""

from base64 import urlsafe_b64encode
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SHORTEST_KEY = 32


class SecretUnreadable(Exception):
    """A stored secret that no live key opens: the fault is ours, never the sender's (spec 2.2)."""


class WeakSecretKey(ValueError):
    """The secret key is missing or shorter than 32 characters."""


class SecretBox:
    """Encrypts with `key`; decrypts also what the `previous` keys encrypted.

    Raises `WeakSecretKey` for any key shorter than 32 characters.
    """

    def __init__(self, key: str, previous: Sequence[str] = ()) -> None:
        for one in (key, *previous):
            if len(one) < SHORTEST_KEY:
                raise WeakSecretKey(f"a secret key needs at least {SHORTEST_KEY} characters")
        self._key = key
        self._fernet = MultiFernet([_fernet(one) for one in (key, *previous)])

    def encrypt(self, secret: str) -> bytes:
        """The ciphertext of `secret`, different each time."""
        return self._fernet.encrypt(secret.encode())

    def decrypt(self, ciphertext: bytes) -> str:
        """The secret. Raises `SecretUnreadable` when no live key opens it, or it is not text."""
        try:
            return self._fernet.decrypt(bytes(ciphertext)).decode()
        except (InvalidToken, UnicodeDecodeError, TypeError):
            raise SecretUnreadable("no live secret key opens this ciphertext") from None

    def reencrypt(self, ciphertext: bytes) -> bytes:
        """The same secret under the current key. Raises `SecretUnreadable`."""
        return self.encrypt(self.decrypt(ciphertext))

    def derive(self, purpose: str) -> bytes:
        """32 bytes for one purpose (token signatures, CSRF, ...), from the current key alone."""
        return _derive(self._key, purpose)

    def __repr__(self) -> str:
        return "SecretBox(...)"


def _derive(key: str, purpose: str) -> bytes:
    return HKDF(SHA256(), 32, salt=b"portaria", info=purpose.encode()).derive(key.encode())


def _fernet(key: str) -> Fernet:
    return Fernet(urlsafe_b64encode(_derive(key, "channel secrets")))
