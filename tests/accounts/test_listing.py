"""Reading events, and who may: the database lets operators alone see them (spec 1, 6)."""

from uuid import UUID

import psycopg
import pytest

from portaria.accounts.listing import EventFilter, find_by_event_id, find_event, list_events
from tests.accounts.workbench import Bench
from tests.support.factory import Factory


async def test_a_tenant_sees_events_only_as_an_operator_and_changes_none(bench: Bench, make: Factory) -> None:
    row, _ = bench.event()
    organization = make.organization()
    async with bench.db.tenant(organization) as conn:
        assert await list_events(conn, limit=10) == []
        assert await find_event(conn, row) is None
    async with bench.db.tenant(organization, operator=True) as conn:
        assert [event.id for event in await list_events(conn, limit=10)] == [row]
    for change in (
        "UPDATE incoming_events SET attempts = 0", "DELETE FROM incoming_events",
        "INSERT INTO incoming_events SELECT * FROM incoming_events", "TRUNCATE incoming_events",
        f"SELECT fn_reprocess_incoming_event('{row}', true, 'x')",
    ):  # fmt: skip
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await _as_tenant(bench, organization, change)


async def _as_tenant(bench: Bench, organization: UUID, change: str) -> None:
    async with bench.db.tenant(organization, operator=True) as conn:
        await conn.execute(change)


async def test_the_service_cannot_delete_what_keeps_repetitions_out(bench: Bench) -> None:
    """G6."""
    bench.event()
    async with bench.db.connection() as conn:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await conn.execute("DELETE FROM incoming_events")


async def test_the_newest_first_page_by_page_and_by_filter(bench: Bench) -> None:
    rows = [bench.event(event_type=kind)[0] for kind in ("A", "B", "A")]
    async with bench.db.connection() as conn:
        first = await list_events(conn, limit=2)
        assert [event.id for event in first] == rows[:0:-1]
        rest = await list_events(conn, limit=2, after=(first[-1].received_at, first[-1].id))
        assert [event.id for event in rest] == rows[:1]
        only_b = await list_events(conn, limit=9, filter=EventFilter(status="pending", event_type="B"))
        assert [event.id for event in only_b] == [rows[1]]
        assert first[0].payload is None, "lists do not carry bodies"


async def test_one_event_is_shown_with_its_body_byte_for_byte(bench: Bench) -> None:
    row, _ = bench.event()
    body = '{"a" :\t1,"a":9007199254740993}\n'
    bench.owner.execute("UPDATE incoming_events SET payload = %s", [body])
    async with bench.db.connection() as conn:
        found = await find_event(conn, row)
        assert found is not None
        assert found.payload == body
        assert await find_by_event_id(conn, found.event_id) == row
        assert await find_by_event_id(conn, "nobody's") is None


async def test_times_at_the_edge_can_be_read_in_any_zone(bench: Bench) -> None:
    """E5."""
    for moment in ("0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"):
        row, _ = bench.event()
        bench.owner.execute("UPDATE incoming_events SET occurred_at = %s WHERE id = %s", [moment, row])
    async with bench.db.connection() as conn:
        for zone in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12"):
            await conn.execute("SELECT set_config('timezone', %s, false)", [zone])
            found = await list_events(conn, limit=9)
            assert sorted(event.occurred_at.year for event in found) == [1, 9999], zone
