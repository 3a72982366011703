"""Keeping the forms: create, list, change, archive; and finding the one that a token opens."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from psycopg.rows import class_row

from portaria.audit import record
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.principal import Principal, Role
from portaria.ids import uuid7

_Q = load_queries("portaria.crm.forms")

SHORTEST_TOKEN: Final = 8

Name = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
Intro = Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00]*$")]
Url = Annotated[str, Meta(max_length=2000, pattern=r"^https?://[!-~]+$")]


@dataclass(frozen=True, slots=True)
class LeadForm:
    """A form. `success_url`: where a browser goes after sending, by default our thank-you page."""

    organization_id: UUID
    id: UUID
    path_token: str
    name: str
    intro: str
    success_url: str | None
    archived_at: datetime | None
    created_at: datetime


class LeadFormDraft(Struct, forbid_unknown_fields=True, frozen=True):
    name: Name
    intro: Intro = ""
    success_url: Url | None = None


class LeadFormPatch(Struct, forbid_unknown_fields=True, frozen=True):
    """What is to change; what is left out stays."""

    name: Name | UnsetType = UNSET
    intro: Intro | UnsetType = UNSET
    success_url: Url | UnsetType | None = UNSET


async def list_forms(conn: Connection, organization_id: UUID) -> list[LeadForm]:
    """The organization's forms, the archived ones last."""
    async with conn.cursor(row_factory=class_row(LeadForm)) as cursor:
        return await (await cursor.execute(_Q["list_forms"], {"organization_id": organization_id})).fetchall()


async def form_by_token(conn: Connection, token: str) -> LeadForm | None:
    """The live form that `token` opens, with the service's rights."""
    if len(token) < SHORTEST_TOKEN or "\x00" in token:
        return None
    async with conn.cursor(row_factory=class_row(LeadForm)) as cursor:
        return await (await cursor.execute(_Q["form_by_token"], {"token": token})).fetchone()


async def create_form(conn: Connection, principal: Principal, draft: LeadFormDraft) -> LeadForm:
    """A new form with a token nobody can guess; audited. Raises a 403 `Refusal` below manager."""
    form_id = uuid7()
    _may_change(principal)
    await conn.execute(
        _Q["insert_form"],
        {
            "organization_id": principal.organization_id, "id": form_id, "name": draft.name,
            "path_token": secrets.token_urlsafe(18), "intro": draft.intro, "success_url": draft.success_url,
        },
    )  # fmt: skip
    return await _said(conn, principal, form_id, "lead_form.created")


async def update_form(
    conn: Connection, principal: Principal, form_id: UUID, patch: LeadFormPatch
) -> LeadForm:
    """Changes what `patch` gives; audited. Raises `Refusal`: 403, 404."""
    _may_change(principal)
    before = await _find(conn, principal.organization_id, form_id)
    given: dict[str, Any] = {
        field: value for field, value in msgspec.structs.asdict(patch).items() if value is not UNSET
    }
    kept = {"name": before.name, "intro": before.intro, "success_url": before.success_url}
    await conn.execute(
        _Q["update_form"],
        {**kept, **given, "organization_id": principal.organization_id, "id": form_id},
    )
    return await _said(conn, principal, form_id, "lead_form.updated")


async def archive_form(conn: Connection, principal: Principal, form_id: UUID) -> LeadForm:
    """From now on its token is unknown (404); its leads stay. Audited. Raises `Refusal`: 403, 404."""
    _may_change(principal)
    await _find(conn, principal.organization_id, form_id)
    await conn.execute(_Q["archive_form"], {"organization_id": principal.organization_id, "id": form_id})
    return await _said(conn, principal, form_id, "lead_form.archived")


def _may_change(principal: Principal) -> None:
    if principal.role < Role.manager:
        raise Refusal(403, "forbidden", "Only managers and admins may change forms.")


async def _find(conn: Connection, organization_id: UUID, form_id: UUID) -> LeadForm:
    async with conn.cursor(row_factory=class_row(LeadForm)) as cursor:
        await cursor.execute(_Q["find_form"], {"organization_id": organization_id, "id": form_id})
        form = await cursor.fetchone()
    if form is None:
        raise Refusal(404, "form_not_found", "There is no such form.")
    return form


async def _said(conn: Connection, principal: Principal, form_id: UUID, action: str) -> LeadForm:
    form = await _find(conn, principal.organization_id, form_id)
    await record(
        conn, organization_id=form.organization_id, action=action, actor=principal.user_id,
        resource_kind="lead_form", resource_id=form.id, metadata={"name": form.name},
    )  # fmt: skip
    return form
