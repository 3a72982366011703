"""Changing leads: made by hand, edited, given to somebody."""

import json
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from psycopg.types.json import Jsonb

from portaria.audit import record
from portaria.crm.leads.listing import Lead, Status, find_lead
from portaria.crm.phones import search_variants, typed_phone
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.principal import Principal, Role
from portaria.ids import uuid7

_Q = load_queries("portaria.crm.leads")

_WORD = r"^[^\x00]*[^\s\x00][^\x00]*$"
Title = Annotated[str, Meta(min_length=1, max_length=255, pattern=_WORD)]
Short = Annotated[str, Meta(min_length=1, max_length=50, pattern=_WORD)]
Tags = Annotated[list[Short], Meta(max_length=50)]


class LeadDraft(Struct, forbid_unknown_fields=True, frozen=True):
    """A lead made by hand or by a program: a person with a phone or an e-mail."""

    name: Title
    phone: Annotated[str, Meta(max_length=50)] | None = None
    email: Annotated[str, Meta(max_length=255, pattern=r"^[^\s@\x00]+@[^\s@\x00]+$")] | None = None
    title: Title | None = None
    stage: Short = "new"
    tags: Tags = []
    source: Literal["console", "api", "import"] = "api"

    def __post_init__(self) -> None:
        if self.phone is None and self.email is None:
            raise ValueError("a lead needs `phone` or `email`")


class LeadPatch(Struct, forbid_unknown_fields=True, frozen=True):
    """What is to change; what is left out stays. The owner is not among it: see `assign_lead`."""

    title: Title | UnsetType = UNSET
    stage: Short | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET


async def create_lead(
    conn: Connection, principal: Principal, draft: LeadDraft, *, region: str = "BR"
) -> UUID:
    """Makes a lead, and its contact where nobody has this phone yet; the contact's lead may be the second.

    In the caller's transaction, with the service's rights: `async with db.transaction()`. Raises
    `Refusal`: 403 for viewers, 422 when the phone is none.
    """
    if principal.role < Role.agent:
        raise Refusal(403, "forbidden", "Viewers may not make leads.")
    phone = None if draft.phone is None else typed_phone(draft.phone, region)
    if draft.phone is not None and phone is None:
        raise Refusal(422, "invalid_phone", "The phone needs its area code, or a + and its country's.")
    await _leave_word(conn, principal)
    contact_id = await find_contact(conn, principal.organization_id, draft.name, phone, draft.email)
    lead_id = uuid7()
    await conn.execute(
        _Q["insert_lead"],
        {
            "organization_id": principal.organization_id, "id": lead_id, "contact_id": contact_id,
            "title": draft.title or draft.name, "source": draft.source, "stage": draft.stage,
            "tags": draft.tags,
        },
    )  # fmt: skip
    return lead_id


async def find_contact(
    conn: Connection, organization_id: UUID, name: str, phone: str | None, email: str | None
) -> UUID:
    """The contact with this phone, else a new one; without a phone the one with this e-mail alone."""
    key: dict[str, object] = {"organization_id": organization_id}
    resolved = await conn.execute(_Q["resolve_contact"], {**key, "person": Jsonb(person(name, phone, email))})
    [(contact_id,)] = await resolved.fetchall()
    if email is not None:
        await conn.execute(_Q["complete_email"], {**key, "contact_id": contact_id, "email": email})
    return UUID(str(contact_id))


def person(name: str, phone: str | None, email: str | None) -> dict[str, Any]:
    """A person as `fn_resolve_contact` looks for them. An e-mail is an anchor only where it is the only
    one: typed by anybody, it must not pull a phone's contact over to another's."""
    return {
        "name": name, "phone": phone, "email": email, "username": None,
        "phone_spellings": search_variants(phone) if phone else [],
        "identities": [{"kind": "email", "value": email.lower()}] if email and not phone else [],
    }  # fmt: skip


async def update_lead(conn: Connection, principal: Principal, lead_id: UUID, patch: LeadPatch) -> Lead:
    """Changes what `patch` gives, in the caller's transaction as the tenant.

    Raises `Refusal`: 403 for viewers, 404 when the principal does not see the lead.
    """
    if principal.role < Role.agent:
        raise Refusal(403, "forbidden", "Viewers may not change leads.")
    await find_lead(conn, principal, lead_id)
    given = {field: value for field, value in msgspec.structs.asdict(patch).items() if value is not UNSET}
    await _leave_word(conn, principal)
    await conn.execute(
        _Q["update_lead"],
        {
            "title": None, "stage": None, "status": None, "tags": None, **given,
            "organization_id": principal.organization_id, "lead_id": lead_id,
        },
    )  # fmt: skip
    return await find_lead(conn, principal, lead_id)


async def assign_lead(
    conn: Connection,
    principal: Principal,
    lead_id: UUID,
    user_id: UUID | None,
    *,
    seen_owner: UUID | UnsetType | None = UNSET,
) -> None:
    """Gives the lead to a member, or to nobody; audited. In the caller's transaction, as the tenant.

    `seen_owner`: the owner the caller decided upon; somebody else's claim meanwhile stands (409). Raises
    `Refusal`: 403, 404, 409 `owner_changed`, 422 when the member was revoked or is a viewer: they are
    locked until commit, so nobody who just left becomes owner.
    """
    key = {"organization_id": principal.organization_id, "lead_id": lead_id, "user_id": user_id}
    if user_id is not None and not await (await conn.execute(_Q["lock_members"], key)).fetchall():
        raise Refusal(422, "not_eligible", "Only a member above viewer can own a lead.")
    lead = await find_lead(conn, principal, lead_id)
    if principal.role < Role.agent:
        raise Refusal(403, "forbidden", "Viewers may not assign leads.")
    if principal.role == Role.agent and user_id != principal.user_id != lead.owner_user_id:
        raise Refusal(403, "forbidden", "An agent takes a lead, or passes their own on.")
    [(owner,)] = await (await conn.execute(_Q["lock_lead"], key)).fetchall()
    if seen_owner is not UNSET and owner != seen_owner:
        raise Refusal(409, "owner_changed", "Somebody else took this lead meanwhile.")
    if owner == user_id:
        return
    await _leave_word(conn, principal)
    await conn.execute(_Q["set_owner"], key)
    await record(
        conn, organization_id=principal.organization_id, action="lead.assigned", actor=principal.user_id,
        resource_kind="lead", resource_id=lead_id,
        metadata={"from": owner and str(owner), "to": user_id and str(user_id)},
    )  # fmt: skip


async def _leave_word(conn: Connection, principal: Principal) -> None:
    await conn.execute(_Q["leave_word"], {"cause": json.dumps({"actor": str(principal.user_id)})})
