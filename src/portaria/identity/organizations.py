"""Organizations: the tenants."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.acts import record_act
from portaria.identity.wording import clean_locale, clean_name, clean_time_zone
from portaria.ids import uuid7

_Q = load_queries("portaria.identity")


@dataclass(frozen=True, slots=True)
class Organization:
    """A tenant. `agents_see_unowned`: agents see leads without an owner (provider facts 7)."""

    id: UUID
    name: str
    time_zone: str
    locale: str
    agents_see_unowned: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class OrganizationChange:
    """What to change; `None` stays as it is."""

    name: str | None = None
    time_zone: str | None = None
    locale: str | None = None
    agents_see_unowned: bool | None = None


async def create_organization(
    conn: Connection,
    *,
    name: str,
    actor: str,
    time_zone: str = "America/Sao_Paulo",
    locale: str = "pt_BR",
) -> UUID:
    """Makes a tenant and returns its id; audited. Raises a 422 `Refusal` for what cannot be its values."""
    made = uuid7()
    values = {
        "name": clean_name(name),
        "time_zone": clean_time_zone(time_zone),
        "locale": clean_locale(locale),
    }
    async with conn.transaction():
        await conn.execute(_Q["insert_organization"], {"id": made, **values})
        await record_act(conn, made, "organization.created", actor, kind="organization", resource_id=made)
    return made


async def update_organization(
    conn: Connection, organization_id: UUID, change: OrganizationChange, *, actor: str
) -> Organization:
    """Changes the tenant; audited with the names of what changed. Raises a `Refusal`: 404, 422."""
    values = {
        "name": None if change.name is None else clean_name(change.name),
        "time_zone": None if change.time_zone is None else clean_time_zone(change.time_zone),
        "locale": None if change.locale is None else clean_locale(change.locale),
        "agents_see_unowned": change.agents_see_unowned,
    }
    async with conn.transaction(), conn.cursor(row_factory=class_row(Organization)) as cursor:
        await cursor.execute(_Q["update_organization"], {"id": organization_id, **values})
        changed = _found(await cursor.fetchone())
        names = [name for name, value in values.items() if value is not None]
        await record_act(
            conn, organization_id, "organization.updated", actor,
            kind="organization", resource_id=organization_id, fields=names,
        )  # fmt: skip
    return changed


async def find_organization(conn: Connection, organization_id: UUID) -> Organization:
    """Raises a 404 `Refusal`."""
    async with conn.cursor(row_factory=class_row(Organization)) as cursor:
        return _found(
            await (await cursor.execute(_Q["find_organization"], {"id": organization_id})).fetchone()
        )


async def list_organizations(conn: Connection) -> list[Organization]:
    """Every organization that the connection may see, the oldest first."""
    async with conn.cursor(row_factory=class_row(Organization)) as cursor:
        return await (await cursor.execute(_Q["list_organizations"])).fetchall()


def _found(organization: Organization | None) -> Organization:
    if organization is None:
        raise Refusal(404, "organization_not_found", "There is no such organization.")
    return organization
