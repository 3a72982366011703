"""Overload: three times what can be answered, for half a minute, on a fast disk and on a slow one.

Nothing may be answered later than 4 s, the rest gets 503 at once, and everything answered 200 is there: its
message, or its row that waits for ingestion, looked up by the id in its body. `commit_delay = 5000` with
`commit_siblings = 0` stands in for a disk whose flush takes 5 ms.
"""

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
from portaria.db.embedded import EmbeddedServer

_MOST_CONNECTIONS = 6_000
_SLOW = {"commit_delay": "5000", "commit_siblings": "0"}
_MISSING = r"""
SELECT count(*) FROM (
    SELECT unnest(%s::text[])
    EXCEPT SELECT external_id FROM messages WHERE organization_id = %s
    EXCEPT SELECT substring(convert_from(raw_body, 'UTF8') FROM 'wamid\.[^"]+')
    FROM webhook_events_log WHERE status = 'received' AND valid_signature
) AS missing
"""


@dataclass
class Overload:
    """One disk's outcome. Rates per second, times in ms.

    `late`: answers after more than 4 s; `behind`: how late the generator itself sent at worst; `missing`:
    promised, and neither ingested nor waiting for it; `waiting`: for ingestion, when we looked.
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
        capacity = drive(site.plan(port, seconds=min(3.0, scale.answer_seconds), warm_up=scale.warm_up)).rate
        plan = site.plan(
            port, rate=3 * capacity, seconds=scale.overload_seconds, connections=_MOST_CONNECTIONS,
            warm_up=0.0, ids=True,
        )  # fmt: skip
        outcome = drive(plan)
        site.drained(scale.ingest_seconds)
    promised = [bodies.external_id(plan.run, number) for number in outcome.ids]
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
        missing=int(site.value(_MISSING, promised, site.demo.organization_id)),
        waiting=site.waiting(),
    )


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
