"""Creating a channel, rotating its secret, archiving it (spec 2.1, 2.5)."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.errors import ForeignKeyViolation, UniqueViolation
from psycopg.rows import class_row

from portaria.audit import record
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.secret_box import SecretBox
from portaria.ids import uuid7
from portaria.intake.channels.request import ChannelRequest, checked, checked_secret
from portaria.intake.phones import search_variants

_Q = load_queries("portaria.intake.channels")

KEEP_PREVIOUS: Final = 72 * 3600.0
"""Seconds: a provider retries for about 51 hours with the secret it had when the event happened."""
_LONGEST_KEEP: Final = 30 * 86400.0


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel session without its secrets. Times are UTC."""

    id: UUID
    organization_id: UUID
    provider: str
    name: str
    account_id: str
    phone_number: str | None
    provider_profile_id: str | None
    webhook_path_token: str
    previous_secret_until: datetime | None
    state: str | None
    state_at: datetime | None
    archived_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Created:
    """A new channel's id and path token, and the secret to be shown this once."""

    id: UUID
    token: str
    secret: str


@dataclass(frozen=True, slots=True)
class Rotated:
    """The new secret, to be shown this once, and until when the old one is good too."""

    secret: str
    previous_until: datetime | None


async def create_channel(
    conn: Connection, box: SecretBox, organization_id: UUID, request: ChannelRequest, *, actor: str | UUID
) -> Created:
    """Registers an account; audited. Raises a `Refusal`: 404, 409 when a live session of the
    installation has the account or the phone already (nobody can register another's), 422.
    """
    made, token = uuid7(), secrets.token_urlsafe(24)
    values, secret = checked(request), checked_secret(request.secret)
    try:
        async with conn.transaction():
            await _refuse_other_spelling(conn, request.provider, values["phone_number"])
            await conn.execute(
                _Q["insert_channel"],
                {
                    **values, "organization_id": organization_id, "id": made, "token": token,
                    "secret_ciphertext": box.encrypt(secret),
                },
            )  # fmt: skip
            await record(
                conn, organization_id=organization_id, action="channel.created", actor=actor,
                resource_kind="channel_session", resource_id=made, metadata={"provider": request.provider},
            )  # fmt: skip
    except UniqueViolation as error:
        raise _taken(error) from None
    except ForeignKeyViolation:
        raise Refusal(404, "organization_not_found", "There is no such organization.") from None
    return Created(made, token, secret)


async def rotate_secret(
    conn: Connection,
    box: SecretBox,
    organization_id: UUID,
    channel_id: UUID,
    *,
    actor: str | UUID,
    secret: str | None = None,
    keep_for: float = KEEP_PREVIOUS,
) -> Rotated:
    """Gives the channel a new secret; the old one stays good for `keep_for` seconds (0: ends at once).

    Audited. Raises a `Refusal`: 404 for an unknown or archived channel, 422.
    """
    if not 0 <= keep_for <= _LONGEST_KEEP:
        raise Refusal(422, "invalid_keep", "The old secret stays good for 0 to 720 hours.")
    secret = checked_secret(secret)
    parameters = {
        "organization_id": organization_id, "id": channel_id, "keep_for": float(keep_for),
        "secret_ciphertext": box.encrypt(secret),
    }  # fmt: skip
    async with conn.transaction():
        row = await (await conn.execute(_Q["rotate_secret"], parameters)).fetchone()
        if row is None:
            raise _no_channel()
        await record(
            conn, organization_id=organization_id, action="channel.secret_rotated", actor=actor,
            resource_kind="channel_session", resource_id=channel_id,
            metadata={"previous_for_seconds": keep_for},
        )  # fmt: skip
    return Rotated(secret, row[0])


async def archive_channel(
    conn: Connection, organization_id: UUID, channel_id: UUID, *, actor: str | UUID
) -> bool:
    """Ends the channel: what arrives for it is archived and ignored, its account is free again.

    Audited. Whether this call changed it. Raises a 404 `Refusal`.
    """
    key = {"organization_id": organization_id, "id": channel_id}
    async with conn.transaction():
        if (await conn.execute(_Q["archive_channel"], key)).rowcount == 0:
            await find_channel(conn, organization_id, channel_id)
            return False
        await record(
            conn, organization_id=organization_id, action="channel.archived", actor=actor,
            resource_kind="channel_session", resource_id=channel_id,
        )  # fmt: skip
    return True


async def find_channel(conn: Connection, organization_id: UUID, channel_id: UUID) -> Channel:
    """Raises a 404 `Refusal`."""
    parameters = {"organization_id": organization_id, "id": channel_id}
    async with conn.cursor(row_factory=class_row(Channel)) as cursor:
        found = await (await cursor.execute(_Q["find_channel"], parameters)).fetchone()
    if found is None:
        raise _no_channel()
    return found


async def list_channels(
    conn: Connection,
    organization_id: UUID,
    *,
    limit: int,
    with_archived: bool = False,
    after: tuple[datetime, UUID] | None = None,
) -> list[Channel]:
    """The channels, the oldest first. `after`: `created_at` and id already seen."""
    after_at, after_id = after or (None, None)
    parameters = {
        "organization_id": organization_id, "limit": limit, "with_archived": with_archived,
        "after_at": after_at, "after_id": after_id,
    }  # fmt: skip
    async with conn.cursor(row_factory=class_row(Channel)) as cursor:
        return await (await cursor.execute(_Q["list_channels"], parameters)).fetchall()


async def _refuse_other_spelling(conn: Connection, provider: str, phone: str | None) -> None:
    """One line may be spelled two ways (provider facts 5.1): neither may be registered beside the other."""
    if phone is None or len(spellings := search_variants(phone)) == 1:
        return
    await conn.execute(_Q["lock_phones"], {"line": min(spellings, key=len)})
    parameters = {"provider": provider, "spellings": spellings}
    if await (await conn.execute(_Q["phone_registered"], parameters)).fetchone():
        raise _phone_taken()


def _taken(error: UniqueViolation) -> Refusal:
    if error.diag.constraint_name == "channel_sessions_phone":
        return _phone_taken()
    return Refusal(409, "account_taken", "This account is already registered by a live channel.")


def _phone_taken() -> Refusal:
    return Refusal(409, "phone_taken", "This phone number is already registered by a live channel.")


def channel_url(address: str, token: str) -> str:
    """Where the provider posts; `address` is the installation's own, without a slash at its end."""
    return f"{address}/api/v1/webhooks/channel/{token}"


def _no_channel() -> Refusal:
    return Refusal(404, "channel_not_found", "There is no such live channel.")
