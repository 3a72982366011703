"""Overload: three times what can be answered, for half a minute, on a fast disk and on a slow one.

Nothing may be answered later than 4 s, the rest gets 503 at once, and everything answered 200 is ingested,
by its first attempt or by the replay. `commit_delay = 5000` with `commit_siblings = 0` stands in for a
disk whose flush takes 5 ms.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from bench import bodies
from bench.history import lived_in
from bench.load import drive
from bench.report import Table, Teller
from bench.scale import Scale
from bench.site import Site
from portaria.db.embedded import EmbeddedServer

_MOST_CONNECTIONS = 6_000
_SLOW = {"commit_delay": "5000", "commit_siblings": "0"}
_AGE = """
UPDATE webhook_events_log SET received_at = now() - interval '6 minutes'
WHERE status = 'received' AND valid_signature AND received_at > now() - interval '5 minutes'
"""
_MISSING = """
SELECT count(*) FROM unnest(%s::text[]) AS promised (external_id)
WHERE NOT EXISTS (
    SELECT 1 FROM messages m WHERE m.organization_id = %s AND m.external_id = promised.external_id)
"""


@dataclass
class Overload:
    """One disk's outcome. Rates per second, times in ms.

    `late`: answers after more than 4 s; `behind`: how late the generator itself sent at worst; `missing`:
    promised, and neither ingested nor still waiting for it; `waiting`: when we stopped waiting for them.
    """

    offered: float
    capacity: float
    answers: dict[str, int]
    accepted: dict[str, float]
    refused: dict[str, float]
    late: int
    unsent: int
    broken: int
    behind: float
    promised: int
    missing: int
    waiting: int
    seconds_to_ingest: float

    @property
    def kept(self) -> bool:
        return not (self.late or self.unsent or self.broken or self.missing)


def measure(server: EmbeddedServer, scale: Scale, tell: Teller) -> dict[str, Overload]:
    """On the disk as it is, and on the slow one."""
    found = {"fast disk": _overload(server, scale, "fast")}
    tell(f"overload: {_said(found['fast disk'])}")
    with _slow_disk(server):
        found["5 ms a flush"] = _overload(server, scale, "slow")
    tell(f"overload, 5 ms a flush: {_said(found['5 ms a flush'])}")
    return found


def _said(found: Overload) -> str:
    longest, missing = found.accepted["max"], f"{found.missing} of {found.promised} missing"
    return f"{found.answers}, {found.late} late, longest {longest:.0f} ms, {missing}"


@contextmanager
def _slow_disk(server: EmbeddedServer) -> Iterator[None]:
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        for name, value in _SLOW.items():
            conn.execute(f"ALTER SYSTEM SET {name} = {value}")
        conn.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            for name in _SLOW:
                conn.execute(f"ALTER SYSTEM RESET {name}")
            conn.execute("SELECT pg_reload_conf()")


def _overload(server: EmbeddedServer, scale: Scale, name: str) -> Overload:
    site = lived_in(server, f"overload_{name}")
    with site.process("worker"), site.web() as (port, _web):
        capacity = drive(
            site.plan(port, connections=64, seconds=min(3.0, scale.overload_seconds), most=100_000)
        ).rate
        plan = site.plan(
            port, rate=3 * capacity, seconds=scale.overload_seconds, connections=_MOST_CONNECTIONS,
            warm_up=0.0, ids=True,
        )  # fmt: skip
        outcome = drive(plan)
        promised = [bodies.external_id(plan.run, number) for number in outcome.ids]
        seconds = _ingest_all(site, scale.drain_seconds)
        waiting = site.waiting()
    absent = int(site.value(_MISSING, promised, site.demo.organization_id))
    return Overload(
        offered=plan.rate,
        capacity=capacity,
        answers=outcome.answers,
        accepted=outcome.accepted,
        refused=outcome.refused,
        late=outcome.late,
        unsent=outcome.unsent,
        broken=outcome.broken,
        behind=outcome.behind,
        promised=len(promised),
        missing=max(0, absent - waiting),
        waiting=waiting,
        seconds_to_ingest=seconds,
    )


def _ingest_all(site: Site, within: float) -> float:
    """Seconds until nothing waits. What the process left to the replay is made old enough for it."""
    began = time.monotonic()
    while site.waiting() and time.monotonic() - began < within:
        before = site.waiting()
        time.sleep(1.0)
        if site.waiting() >= before:
            site.sql(_AGE)
            with site.process("replay") as replay:
                replay.wait(60)
    return time.monotonic() - began


def tables(found: dict[str, Overload]) -> list[Table]:
    """What the report shows."""
    columns = (
        *("", "offered/s", "accepted/s at rest", "answers", "200: p99 ms", "200: max ms"),
        *("503: p99 ms", "503: max ms", "after 4 s", "not sent or broken", "200 but lost", "200, waiting"),
    )
    table = Table("Overload: three times the capacity", columns)
    for name, o in found.items():
        counted: Any = ", ".join(f"{k}: {v:,}" for k, v in o.answers.items())
        table.add(
            name, o.offered, o.capacity, counted, o.accepted["p99"], o.accepted["max"], o.refused["p99"],
            o.refused["max"], o.late, o.unsent + o.broken, o.missing, o.waiting,
        )  # fmt: skip
    return [table]
