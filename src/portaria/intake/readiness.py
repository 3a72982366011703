"""Whether the installation can keep its promise (spec 7, `/readyz`): each check with a sentence."""

from dataclasses import dataclass
from typing import Any

from portaria.db.migrate import versions
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.intake.accepted import describe
from portaria.jobs import alive

_Q = load_queries("portaria.intake")
_WORKER_SEEN_WITHIN = 60.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    value: float | None = None


async def check_promise(db: Database) -> list[Check]:
    """Database reachable, migrations current, a worker alive, age of the oldest pending row in seconds."""
    try:
        async with db.connection() as conn:
            return [
                Check("database", True, "reachable"),
                await _migrations(conn),
                await _queue(conn),
                await _oldest(conn),
            ]
    except Exception as error:
        return [Check("database", False, describe(error))]


async def _migrations(conn: Connection) -> Check:
    applied = {row[0] async for row in await conn.execute(load_queries("portaria.db")["applied_migrations"])}
    missing = sorted(versions() - applied)
    return Check("migrations", not missing, f"missing: {', '.join(missing)}" if missing else "current")


async def _queue(conn: Connection) -> Check:
    workers = await alive(conn, _WORKER_SEEN_WITHIN)
    return Check("queue", workers > 0, f"{workers} worker(s) alive", float(workers))


async def _oldest(conn: Connection) -> Check:
    """Not a reason to refuse: rows that were tried and failed may wait for hours."""
    row: tuple[Any, ...] | None = await (await conn.execute(_Q["oldest_pending"])).fetchone()
    age = float(row[0]) if row and row[0] is not None else 0.0
    return Check("oldest_pending_seconds", True, f"{age:.0f} s", age)
