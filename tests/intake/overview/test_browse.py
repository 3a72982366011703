"""The archive a page at a time: filters, a walk that ends, nobody's rows, the index that carries it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.db.queries import load_queries
from portaria.ids import uuid7
from portaria.intake.overview import (
    Browse,
    Found,
    browse,
    browse_arrivals,
    count_replayable,
    replayable_after,
)
from tests.support.factory import Factory

EVERYTHING = Browse()


class Archive:
    """Rows made one by one, a second apart."""

    def __init__(self, owner: psycopg.Connection) -> None:
        self.owner = owner
        self.organization = Factory(owner).organization()
        self.started = datetime(2026, 12, 1, 12, tzinfo=UTC)
        self.made = 0

    def row(
        self, status: str = "processed", *, valid: bool | None = True, nobodys: bool = False, **more: object
    ) -> UUID:
        at = self.started + timedelta(seconds=self.made)
        row = UUID(int=(int(at.timestamp() * 1000) << 80) | (uuid7().int & ((1 << 80) - 1)))
        self.made += 1
        columns = {
            "id": row, "organization_id": None if nobodys else self.organization, "provider": "zernio",
            "raw_body": b"{}", "status": status, "valid_signature": valid, "received_at": at,
            "processed_at": None if status == "received" else at, **more,
        }  # fmt: skip
        names = ", ".join(columns)
        marks = ", ".join(["%s"] * len(columns))
        self.owner.execute(
            f"INSERT INTO webhook_events_log ({names}) VALUES ({marks})", list(columns.values())
        )
        return row


@pytest.fixture
def archive(shared_owner: psycopg.Connection) -> Archive:
    return Archive(shared_owner)


async def _found(
    pool: Database, archive: Archive, wanted: Browse = EVERYTHING, *, operator: bool = False, **more: object
) -> Found:
    async with pool.tenant(archive.organization, operator=operator) as conn:
        return await browse_arrivals(conn, archive.organization, wanted, **{"limit": 2, **more})  # type: ignore[arg-type]


async def test_pages_go_on_where_the_last_one_ended_whatever_the_status(
    pool: Database, archive: Archive
) -> None:
    rows = [archive.row(status) for status in ("processed", "error", "received", "dead", "processed")]
    seen: list[UUID] = []
    before = None
    for _ in range(3):
        found = await _found(pool, archive, before=before)
        seen += [row.id for row in found.rows]
        before = found.before
    assert seen == rows[::-1]
    assert before is None


async def test_filters_and_days(pool: Database, archive: Archive) -> None:
    archive.row("received", valid=None)
    waits = archive.row("received")
    bad = archive.row("error", valid=False, raw_body=b'{"a": "\xff procura \x00"}')
    named = archive.row("dead", event_type="message.received", external_id="wamid.1")
    cases: list[tuple[Browse, list[UUID]]] = [
        (Browse(status="pending"), [waits]),
        (Browse(status="error"), [bad]),
        (Browse(event_type="message.received"), [named]),
        (Browse(external_id="wamid.1", status="dead"), [named]),
        (Browse(external_id="wamid.1", status="error"), []),
        (Browse(text="procura"), [bad]),
        (Browse(since=archive.started + timedelta(seconds=2)), [named, bad]),
        (Browse(until=archive.started + timedelta(seconds=3), status="error"), [bad]),
        (Browse(since=archive.started + timedelta(seconds=4)), []),
    ]
    for wanted, rows in cases:
        assert [row.id for row in (await _found(pool, archive, wanted)).rows] == rows, wanted


async def test_a_walk_ends_and_says_where_to_go_on(
    pool: Database, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "_WALK", 3)
    rare = archive.row(event_type="rara")
    for _ in range(7):
        archive.row(event_type="comum")
    wanted, before, pages = Browse(event_type="rara"), None, 0
    while True:
        found = await _found(pool, archive, wanted, before=before)
        pages += 1
        if found.rows or found.before is None:
            break
        assert found.stopped
        before = found.before
    assert [row.id for row in found.rows] == [rare]
    assert pages == 3


async def test_a_provider_id_is_found_however_old(
    pool: Database, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "_WALK", 3)
    same = [archive.row(external_id="wamid.1"), archive.row("dead", external_id="wamid.1")]
    Archive(archive.owner).row(external_id="wamid.1")
    for _ in range(7):
        archive.row(external_id="wamid.2")
    found = await _found(pool, archive, Browse(external_id="wamid.1"), limit=5)
    assert [row.id for row in found.rows] == same[::-1]
    assert found.before is None
    first = await _found(pool, archive, Browse(external_id="wamid.1"), limit=1)
    second = await _found(pool, archive, Browse(external_id="wamid.1"), limit=1, before=first.before)
    assert [row.id for row in (*first.rows, *second.rows)] == same[::-1]
    assert not second.before


async def test_nobodys_rows_are_the_operators_and_anothers_are_nobodys(
    pool: Database, archive: Archive
) -> None:
    mine, nobodys = archive.row(), archive.row(nobodys=True)
    wanted = Browse(nobodys=True)
    assert nobodys in [row.id for row in (await _found(pool, archive, wanted, operator=True, limit=50)).rows]
    assert (await _found(pool, archive, wanted)).rows == []
    assert [row.id for row in (await _found(pool, archive, operator=True)).rows] == [mine]
    other = Archive(archive.owner)
    async with pool.tenant(other.organization) as conn:
        assert (await browse_arrivals(conn, archive.organization, Browse(), limit=5)).rows == []


async def test_what_a_replay_by_filter_takes_each_once_oldest_first(pool: Database, archive: Archive) -> None:
    dead = [archive.row("dead") for _ in range(3)]
    archive.row("dead", valid=False)
    archive.row("dead", provider="lead_form")
    archive.row("processed")
    async with pool.tenant(archive.organization) as conn:
        assert await count_replayable(conn, archive.organization, "dead", Browse()) == 3
        first = await replayable_after(conn, archive.organization, "dead", Browse(), after=None, limit=2)
        rest = await replayable_after(conn, archive.organization, "dead", Browse(), after=first[-1], limit=2)
    assert first + rest == dead


async def test_the_page_is_carried_by_its_index(pool: Database, archive: Archive) -> None:
    """Also for one who sees their organization alone: the policy leaves the index its order."""
    archive.row()
    parameters = {
        **browse._bounds(archive.organization, Browse(status="dead"), None), "walk": 51, "limit": 51,
        "event_type": None, "external_id": None, "channel_session_id": None, "text": None,
    }  # fmt: skip
    query = load_queries("portaria.intake.overview")["browse"]
    async with pool.tenant(archive.organization) as conn:
        await conn.execute("SET LOCAL enable_seqscan = off")
        await conn.execute("SET LOCAL enable_bitmapscan = off")
        plan = await (await conn.execute(b"EXPLAIN " + query.encode(), parameters)).fetchall()
    told = "\n".join(line for (line,) in plan)
    assert "webhook_events_log_browse" in told
    assert "Seq Scan on webhook_events_log" not in told
