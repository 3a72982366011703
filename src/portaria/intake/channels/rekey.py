"""Moving every channel's secrets to the current secret key, so that an older key can be retired."""

from dataclasses import dataclass

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.identity.secret_box import SecretBox, SecretUnreadable

_Q = load_queries("portaria.intake.channels")


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """How many channels were moved, and how many no live key opens: give those a new secret."""

    moved: int
    unreadable: int


async def reencrypt_secrets(conn: Connection, box: SecretBox) -> Rekeyed:
    """Encrypts what is kept by the current key. A secret that is rotated meanwhile is left as it is.

    May be run again at any time, and stopped half-way: each channel is a statement of its own.
    """
    moved = unreadable = 0
    rows = await (await conn.execute(_Q["list_ciphertexts"])).fetchall()
    for organization_id, channel_id, current, previous in rows:
        try:
            values = {
                "current": current and box.reencrypt(current),
                "previous": previous and box.reencrypt(previous),
            }
        except SecretUnreadable:
            unreadable += 1
            continue
        key = {"organization_id": organization_id, "id": channel_id, "was": current, "previous_was": previous}
        moved += (await conn.execute(_Q["move_ciphertexts"], {**values, **key})).rowcount
    return Rekeyed(moved, unreadable)
