"""The browsers that asked to be told. Kept per organization and user; a browser that changes hands goes
with its new user. With the service's rights: the keys are not for the console to read.
"""

import base64
from typing import Annotated, Final
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import ec
from msgspec import Meta, Struct

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.ids import uuid7
from portaria.push.endpoints import THE_INTERNET, Reach

_Q = load_queries("portaria.push")

MOST: Final = 20
"""Browsers of one user in one organization; the oldest makes room."""

_Base64 = Annotated[str, Meta(max_length=100, pattern=r"^[A-Za-z0-9_-]+=*$")]


class BrowserKeys(Struct, frozen=True):
    p256dh: _Base64
    auth: _Base64


class SubscriptionDraft(Struct, frozen=True):
    """A `PushSubscription` as the browser writes it in JSON."""

    endpoint: Annotated[str, Meta(max_length=2048)]
    keys: BrowserKeys


async def subscribe(
    conn: Connection,
    organization_id: UUID,
    user_id: UUID,
    draft: SubscriptionDraft,
    *,
    user_agent: str = "",
    reach: Reach = THE_INTERNET,
) -> None:
    """From now on this browser is told. Again from the same browser: its keys are renewed.

    In the caller's transaction. Raises a 422 `Refusal`.
    """
    try:
        reach.check(draft.endpoint)
        p256dh, auth = _point(draft.keys.p256dh), _secret(draft.keys.auth)
    except ValueError as error:
        raise Refusal(422, "invalid_subscription", f"This browser cannot be told: {error}.") from None
    await conn.execute(
        _Q["subscribe"],
        {
            "organization_id": organization_id, "id": uuid7(), "user_id": user_id,
            "endpoint": draft.endpoint, "p256dh": p256dh, "auth": auth,
            "user_agent": user_agent.replace("\x00", "\ufffd")[:255],
        },
    )  # fmt: skip
    key = {"organization_id": organization_id, "user_id": user_id, "endpoint": draft.endpoint}
    await conn.execute(_Q["leave_others"], key)
    await conn.execute(_Q["make_room"], {**key, "most": MOST})


async def unsubscribe(conn: Connection, user_id: UUID, endpoint: str) -> bool:
    """The user's browser is told no more, in any organization. Whether it was."""
    parameters = {"user_id": user_id, "endpoint": endpoint}
    return (await conn.execute(_Q["unsubscribe"], parameters)).rowcount > 0


async def prune(conn: Connection, *, days: int = 7) -> int:
    """Forgets which browsers were told what, once nobody will tell them again. Returns how many rows."""
    return (await conn.execute(_Q["prune"], {"days": days})).rowcount


def _point(text: str) -> str:
    """The browser's public key, an uncompressed point of P-256. Raises ValueError."""
    raw = _decoded(text)
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
    except ValueError:
        raise ValueError("its key is none") from None
    if len(raw) != 65:
        raise ValueError("its key is none")
    return text.rstrip("=")


def _secret(text: str) -> str:
    if len(_decoded(text)) != 16:
        raise ValueError("its secret is not of 16 bytes")
    return text.rstrip("=")


def _decoded(text: str) -> bytes:
    bare = text.rstrip("=")
    return base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
