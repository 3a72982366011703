"""The verb: sift the archive, hold the person still, blank everything, write it down."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import structlog

from portaria.audit import record
from portaria.crm.erasure.archive import Walked, sift, sift_recent
from portaria.crm.erasure.person import Person, read_person
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.db.sqlstate import is_retryable_at_once
from portaria.errors import Refusal

_Q = load_queries("portaria.crm.erasure")
_TRIES: Final = 3
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure did, or would do. `counts`: rows by kind; `pending`: deliveries of the person that
    are still being taken in; `erased_at`: since when nothing of the person is left, None before it.
    """

    contact_id: UUID
    erased_at: datetime | None
    counts: dict[str, int] = field(default_factory=dict)
    pending: int = 0


class _Changed(Exception):
    """The person became known by something more while the archive was sifted."""


def _unheard() -> None: ...


async def count_erasure(
    db: Database, organization_id: UUID, contact_id: UUID, *, walked: Walked = _unheard
) -> Erasure:
    """What `erase_contact` would blank now. Changes nothing. Raises a 404 `Refusal`."""
    async with db.connection() as conn:
        person = await read_person(conn, organization_id, contact_id)
        if person.erased_at is not None:
            return Erasure(contact_id, person.erased_at)
        since = await _a_moment_ago(conn)
        found = await sift(conn, organization_id, person, walked)
        finished, pending = await sift_recent(conn, organization_id, person, since)
        key = {"organization_id": organization_id, "contact_id": contact_id}
        [(conversations, messages, leads, events)] = await (await conn.execute(_Q["counts"], key)).fetchall()
    counts = {
        "conversations": conversations, "messages": messages, "leads": leads, "events": events,
        "arrivals": len(found | finished),
    }  # fmt: skip
    return Erasure(contact_id, None, counts, len(pending))


async def erase_contact(
    db: Database, organization_id: UUID, contact_id: UUID, *, actor: str | UUID, walked: Walked = _unheard
) -> Erasure:
    """Forgets the person, audited without a word about them; a second time changes nothing.

    `db` with the service's rights. Raises `Refusal`: 404; 409 `arrivals_pending` while a delivery of theirs
    is being taken in, `busy` when they keep writing meanwhile.
    """
    for _try in range(_TRIES):
        async with db.connection() as conn:
            person = await read_person(conn, organization_id, contact_id)
            if person.erased_at is not None:
                return Erasure(contact_id, person.erased_at)
            since = await _a_moment_ago(conn)
            found = await sift(conn, organization_id, person, walked)
        try:
            async with db.transaction() as conn:
                return await _erase(conn, organization_id, person, found, since, actor)
        except _Changed:
            continue
        except Exception as error:
            if not is_retryable_at_once(error):
                raise
    raise Refusal(409, "busy", "The person is writing at this moment: try again in a minute.")


async def _erase(
    conn: Connection, organization_id: UUID, person: Person, found: set[UUID], since: datetime, actor: Any
) -> Erasure:
    key = {"organization_id": organization_id, "contact_id": person.contact_id}
    await conn.execute(_Q["patience"])
    await conn.execute(_Q["lock"], key)
    now = await read_person(conn, organization_id, person.contact_id)
    if now.erased_at is not None:
        return Erasure(person.contact_id, now.erased_at)
    if (now.spellings, now.email, now.anchors) != (person.spellings, person.email, person.anchors):
        raise _Changed
    finished, pending = await sift_recent(conn, organization_id, now, since)
    if pending:
        raise Refusal(
            409, "arrivals_pending",
            f"{len(pending)} deliveries of this person are still being taken in: try again when they are"
            " done, within six hours at most.",
        )  # fmt: skip
    arrivals = list(found | finished | now.submissions)
    [(counts,)] = await (
        await conn.execute(_Q["erase"], {**key, "arrivals": arrivals, "spellings": list(now.spellings)})
    ).fetchall()
    await record(
        conn, organization_id=organization_id, action="contact.erased", actor=actor,
        resource_kind="contact", resource_id=person.contact_id, metadata=counts,
    )  # fmt: skip
    _log.info("contact_erased", contact=str(person.contact_id), actor=str(actor))
    erased = await read_person(conn, organization_id, person.contact_id)
    return Erasure(person.contact_id, erased.erased_at, counts)


async def _a_moment_ago(conn: Connection) -> datetime:
    [(moment,)] = await (await conn.execute(_Q["a_moment_ago"])).fetchall()
    return moment  # type: ignore[no-any-return]
