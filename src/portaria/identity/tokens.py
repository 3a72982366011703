"""API tokens: a JWT signed with a key of its own, one fixed algorithm, and an end.

A token says who signed in and when; what they may do is read from the database for every request. It
ends by itself, when the user signs out everywhere, and when the secret key changes.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import jwt

from portaria.errors import Refusal
from portaria.identity.secret_box import SecretBox
from portaria.identity.sign_in import SignedIn

_ALGORITHM = "HS256"
_ISSUER = "portaria"
# One space or more, no tab: RFC 6750. The token is what our own encoder writes, nothing after it.
_BEARER = re.compile(r"bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)", re.IGNORECASE | re.ASCII)


class Tokens:
    """Issues and reads tokens that live `lifetime` seconds."""

    def __init__(self, box: SecretBox, lifetime: float) -> None:
        self._key = box.derive("api tokens")
        self.lifetime = lifetime

    def issue(self, signed_in: SignedIn, *, now: datetime | None = None) -> str:
        """A token for whoever just signed in."""
        now = now or datetime.now(UTC)
        claims = {
            "iss": _ISSUER, "sub": str(signed_in.user_id), "epoch": signed_in.epoch,
            "iat": now, "exp": now + timedelta(seconds=self.lifetime),
        }  # fmt: skip
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM)

    def read(self, token: str) -> SignedIn:
        """The sign-in that a token stands for. Raises a 401 `Refusal` for any that is not good now."""
        try:
            claims = jwt.decode(
                token, self._key, algorithms=[_ALGORITHM], issuer=_ISSUER,
                options={"require": ["iss", "sub", "exp", "iat", "epoch"]},
            )  # fmt: skip
            epoch = claims["epoch"]
            if type(epoch) is not int:
                raise _refused("invalid_token", "The token is not one of ours.")
            return SignedIn(UUID(claims["sub"]), epoch)
        except jwt.ExpiredSignatureError:
            raise _refused("token_expired", "The token has expired: sign in again.") from None
        except (jwt.InvalidTokenError, ValueError):
            raise _refused("invalid_token", "The token is not one of ours.") from None


def bearer_token(authorization: Sequence[str]) -> str:
    """The token in the one `Authorization` header. Raises a 401 `Refusal` for none, two, or odd ones."""
    if len(authorization) == 1 and (found := _BEARER.fullmatch(authorization[0])):
        return found[1]
    if not authorization:
        raise _refused("unauthenticated", "Sign in: Authorization: Bearer <access_token>.")
    raise _refused("invalid_token", "The Authorization header is not of the form: Bearer <access_token>.")


def _refused(code: str, detail: str) -> Refusal:
    return Refusal(401, code, detail, {"WWW-Authenticate": 'Bearer realm="portaria"'})
