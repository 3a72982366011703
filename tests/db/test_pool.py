"""The pool after the server ended every connection: nobody waits for one dead connection after the other."""

import asyncio
from contextlib import AsyncExitStack

import psycopg

from portaria.db.pool import Database
from tests.conftest import TestDatabase

SIZE = 8


async def test_a_full_pool_of_ended_connections_costs_its_users_no_wait(database: TestDatabase) -> None:
    """As a restart of the database leaves it."""
    pool = Database(database.app_url, name="restarted", size=SIZE, timeout=2.0)
    await pool.open()
    try:
        first = await backends(pool)
        with psycopg.connect(database.owner_url, autocommit=True) as owner:
            ended = owner.execute(
                "SELECT count(*), bool_and(pg_terminate_backend(pid, 5000))"
                " FROM pg_stat_activity WHERE application_name = 'restarted'"
            ).fetchone()
        assert ended == (SIZE, True)
        assert not first & await backends(pool)
    finally:
        await pool.close()


async def backends(pool: Database) -> set[int]:
    """The server processes behind as many connections as the pool holds, all out at once."""
    async with AsyncExitStack() as out:
        out_at_once = [await out.enter_async_context(pool.connection()) for _ in range(SIZE)]
        rows = await asyncio.gather(*(conn.execute("SELECT pg_backend_pid()") for conn in out_at_once))
        return {row[0] for row in [await found.fetchone() for found in rows] if row}
