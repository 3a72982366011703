"""Ingestion and replay behind a transaction pooler (cases E10, E11): nothing outlives its transaction."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import portaria
from portaria.db.pool import Connection, Database, connection_options
from portaria.errors import Refusal
from portaria.intake.by_hand import replay_by_hand
from portaria.intake.first_attempt import first_attempt
from portaria.intake.providers import samples
from portaria.intake.replay import replay_round
from tests.intake.backroom import NOON, PHONE, QUICK, Backroom

SOURCE = Path(portaria.__file__).parent
SESSION_LOCK = re.compile(r"pg_(?:try_)?advisory_(?!xact_)\w*lock|pg_advisory_unlock", re.IGNORECASE)


def test_every_advisory_lock_ends_with_its_transaction() -> None:
    """Case E10; and their keys are made in one file."""
    sources = [p for p in SOURCE.rglob("*") if p.suffix in (".py", ".sql")]
    assert len(sources) > 50
    assert [p.name for p in sources if SESSION_LOCK.search(p.read_text())] == []
    assert SESSION_LOCK.search("SELECT pg_advisory_lock(1)")
    assert SESSION_LOCK.search("SELECT pg_try_advisory_lock_shared(1)")
    locking = {p for p in sources if "advisory_xact_lock" in p.read_text()}
    elsewhere = {p.name for p in locking if "fn_lock_key(" not in p.read_text()}
    assert elsewhere <= {"migrate.py", "queue_schema.py"}  # before the function that makes the keys is there


async def state(conn: Connection) -> dict[str, object]:
    """What a session could carry from one transaction to the next."""
    queries = {
        "settings": "SELECT name, setting FROM pg_settings WHERE source = 'session'",
        "prepared": "SELECT name FROM pg_prepared_statements",
        "listens": "SELECT pg_listening_channels()",
        "locks": "SELECT objid FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'",
        "cursors": "SELECT name FROM pg_cursors WHERE name <> ''",
        "temporary": "SELECT relname FROM pg_class WHERE relpersistence = 't'",
        "role": "SELECT current_user, session_user",
    }
    return {what: await (await conn.execute(query)).fetchall() for what, query in queries.items()}


async def test_no_statement_leaves_anything_in_its_session(room: Backroom) -> None:
    """Case E11: all of intake's work on two connections, which look afterwards as they did at first."""
    assert connection_options(room.database.app_url, "x")["prepare_threshold"] is None
    db = Database(room.database.app_url, name="pooled", size=2)
    await db.open()
    async with db.connection() as one, db.connection() as two:
        before = [await state(one), await state(two)]
    for number in range(6):
        row = room.archived(room.message("Parar" if number % 2 else "Olá", conversation_id=f"t{number}"))
        await first_attempt(db, await room.load(row))
    for age, attempts in (("6 minutes", 0), ("7 hours", 3), ("1 hour", 20)):
        room.archived(room.message(), age=age, attempts=attempts, tried="1 minute")
    room.archived(room.message() | {"message": {}}, age="1 hour")
    assert await replay_round(db, pace=QUICK, wait=1) is not None
    dead = room.one("SELECT id FROM webhook_events_log WHERE status = 'dead' LIMIT 1")
    await replay_by_hand(db, dead, actor="ana", organization_id=None)
    await room.apply(samples.outcome("read", room.channel.account_id, "wamid.1", PHONE, NOON))
    with suppress(Refusal):
        await replay_by_hand(db, dead, actor="ana", organization_id=room.make.organization())
    async with db.connection() as one, db.connection() as two:
        assert [await state(one), await state(two)] == before
    await db.close()


async def test_no_advisory_lock_is_held_when_nothing_happens(room: Backroom) -> None:
    """Case E10."""
    for number in range(5):
        await room.take_in(room.message(conversation_id=f"t{number}"))
        room.archived(room.message("Parar"), age="7 hours")
        await room.replay()
    assert room.count("pg_locks", "locktype = 'advisory'") == 0


async def test_a_key_that_collides_only_waits(room: Backroom) -> None:
    """Case E12: another thread's lock, held by somebody else, is waited for and nothing is skipped."""
    row = room.archived(room.message(conversation_id="t1"))
    key = f"{room.organization_id}/{room.channel.id}/t1"
    with room.holding(f"SELECT pg_advisory_xact_lock(fn_lock_key('thread', '{key}'))"):
        trying = asyncio.create_task(room.first(row))
        await room.blocked(on="%fn_ingest_message%")
    await trying
    assert room.standing(row) == ("processed", 0, None)
