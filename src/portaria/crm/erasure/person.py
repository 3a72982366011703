"""Whom an erasure is about, and by what a text can be told to speak of them."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from portaria.crm.phones import search_variants, typed_phone
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal

_Q = load_queries("portaria.crm.erasure")
_COUNTRY: Final = "+55"
_LINE_DIGITS: Final = 8
"""A Brazilian line without its area code and its ninth digit, which may be left out."""


@dataclass(frozen=True, slots=True)
class Person:
    """A contact and what it is known by. `spellings`: how its phone is written in the database; `ids`: of
    its messages, threads and identities; `submissions`: the arrivals that its leads came by."""

    contact_id: UUID
    erased_at: datetime | None
    spellings: tuple[str, ...]
    email: str | None
    ids: frozenset[str]
    anchors: frozenset[str]
    submissions: frozenset[UUID]

    @property
    def phones(self) -> frozenset[str]:
        """Their phone as digits alone, with the country's and without."""
        digits = {spelling.removeprefix("+") for spelling in self.spellings}
        national = {s.removeprefix(_COUNTRY) for s in self.spellings if s.startswith(_COUNTRY)}
        return frozenset(digits | national)

    @property
    def needles(self) -> list[bytes]:
        """What bytes that speak of them hold, if nothing hides it."""
        words = {s[-_LINE_DIGITS:] for s in self.spellings} | self.anchors
        if self.email:
            words |= {self.email, self.email.lower()}
        escaped = {json.dumps(word)[1:-1] for word in words}
        return sorted(word.encode() for word in words | escaped if word)


async def read_person(conn: Connection, organization_id: UUID, contact_id: UUID) -> Person:
    """The contact as it is now. Raises a 404 `Refusal`."""
    key = {"organization_id": organization_id, "contact_id": contact_id}

    async def column(name: str, **more: object) -> list[str]:
        return [row[0] for row in await (await conn.execute(_Q[name], {**key, **more})).fetchall()]

    found = await (await conn.execute(_Q["contact"], key)).fetchone()
    if found is None:
        raise Refusal(404, "contact_not_found", "There is no such contact.")
    _id, _name, phone, email, _username, erased_at = found
    known = search_variants(phone) if phone else []
    others = set(await column("others_phones", phones=known))
    spellings = tuple(spelling for spelling in known if spelling not in others)
    identities = await (await conn.execute(_Q["identities"], key)).fetchall()
    anchors = {value if kind in ("email", "business_scoped_id") else value.partition("/")[2] or value
               for kind, value in identities}  # fmt: skip
    anchors |= set(await column("threads"))
    messages = await column("external_ids")
    return Person(
        contact_id, erased_at, spellings, email, frozenset(anchors | set(messages)), frozenset(anchors),
        frozenset(UUID(str(row)) for row in await column("submissions")),
    )  # fmt: skip


async def find_person_by_phone(
    conn: Connection, organization_id: UUID, typed: str, *, region: str = "BR"
) -> UUID:
    """The contact with this phone, however it is typed or stored. Raises `Refusal`: 422 for what is no
    phone, 404 for nobody, 409 where two contacts have it under two spellings.
    """
    phone = typed_phone(typed, region)
    if phone is None:
        raise Refusal(422, "invalid_phone", "The phone needs its area code, or a + and its country's.")
    parameters = {"organization_id": organization_id, "phones": search_variants(phone)}
    found = [row[0] for row in await (await conn.execute(_Q["contacts_by_phone"], parameters)).fetchall()]
    if not found:
        raise Refusal(404, "contact_not_found", "There is no contact with this phone.")
    if len(found) > 1:
        named = ", ".join(str(contact) for contact in found)
        raise Refusal(409, "contact_ambiguous", f"Several contacts have this phone, name one by id: {named}.")
    return UUID(str(found[0]))
