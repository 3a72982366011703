"""A lead's facts, by the trigger `trg_emit_event_on_lead_change`: whoever writes, once, and only changes."""

from typing import Any
from uuid import UUID

import pytest

from portaria.db.pool import Database
from portaria.events import emit, find_event, list_events
from portaria.ids import uuid7
from tests.support.rotation import Desk


def facts(desk: Desk, lead: UUID) -> list[str]:
    rows = desk.conn.execute("SELECT event_type FROM event_log WHERE entity_id = %s ORDER BY seq", (lead,))
    return [row[0] for row in rows]


def test_a_new_lead_is_created_and_with_an_owner_assigned(desk: Desk) -> None:
    (a,) = desk.members("Ana")
    plain, owned = desk.lead()[0], desk.lead(owner=a)[0]
    assert facts(desk, plain) == ["lead.created"]
    assert facts(desk, owned) == ["lead.created", "lead.assigned"]
    payload = desk.value("SELECT payload FROM event_log WHERE entity_id = %s", plain)
    assert payload["lead_id"] == str(plain)
    assert payload["owner_user_id"] is None
    assert payload["source"] == "form"


CHANGES: list[tuple[str, list[str]]] = [
    ("owner_user_id = {a}", []),
    ("owner_user_id = {b}", ["lead.assigned"]),
    ("owner_user_id = NULL", ["lead.unassigned"]),
    ("stage = 'new'", []),
    ("stage = 'won'", ["lead.stage_changed"]),
    ("stage = 'won', owner_user_id = {b}", ["lead.stage_changed", "lead.assigned"]),
    ("title = 'x', tags = '{{y}}', status = 'won'", []),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_a_change_by_sql_alone(desk: Desk, change: str, expected: list[str]) -> None:
    a, b = desk.members("Ana", "Bia")
    lead, _ = desk.lead(owner=a)
    filled = change.format(a=f"'{a}'", b=f"'{b}'")
    desk.conn.execute(f"UPDATE crm_leads SET {filled} WHERE id = %s", (lead,))
    assert facts(desk, lead)[2:] == expected


def test_since_when_the_owner_is_the_owner(desk: Desk) -> None:
    a, b = desk.members("Ana", "Bia")
    lead, _ = desk.lead()

    def since() -> Any:
        return desk.value("SELECT assigned_at FROM crm_leads WHERE id = %s", lead)

    def give(to: UUID | None) -> None:
        desk.conn.execute("UPDATE crm_leads SET owner_user_id = %s WHERE id = %s", (to, lead))

    assert since() is None
    give(a)
    first = since()
    give(a)
    assert since() == first is not None
    give(b)
    assert since() > first
    give(None)
    assert since() is None


async def test_facts_of_ones_own(desk: Desk, pool: Database) -> None:
    thing = uuid7()
    async with pool.transaction() as conn:
        made = [
            await emit(
                conn, organization_id=desk.org, event_type="thing.moved", entity_kind="thing",
                entity_id=thing, payload={"n": n}, metadata={"actor": "test"},
            )
            for n in range(3)
        ]  # fmt: skip
    async with pool.tenant(desk.org) as conn:
        newest = await list_events(conn, desk.org, "thing", thing, limit=2)
        older = await list_events(conn, desk.org, "thing", thing, limit=2, before=newest[-1].seq)
        found = await find_event(conn, desk.org, made[0])
    assert [e.payload["n"] for e in newest + older] == [2, 1, 0]
    assert found == older[0]
    assert found.lead_id is None
    async with pool.tenant(Desk.open(desk.conn, desk.make).org) as conn:
        assert await find_event(conn, desk.org, made[0]) is None
