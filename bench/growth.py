"""Growth: the same figures with 10 thousand, 1 million and 5 million archived rows in one database.

Answering, a replay round, what people look at, and the rotation. History is made by SQL (`sql/fill.sql`),
once: each size is filled up to the next; what is measured on the way is a copy, so that the largest has seen
nothing else. The smallest is measured in turn with it: minutes apart, a busy machine made pages differ by
half whose queries did the same.
"""

import asyncio
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import UUID

import psycopg

from bench import bodies
from bench.history import HEADERS, fill, rotation_of
from bench.load import drive
from bench.pages import timed_looks
from bench.report import Table, Teller
from bench.scale import Scale
from bench.site import Site, database_bytes, make_site
from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Database
from portaria.ids import uuid7
from portaria.intake.replay import replay_round

_PENDING = """
INSERT INTO webhook_events_log (
    id, provider, organization_id, channel_session_id, headers, raw_body, valid_signature, received_at)
VALUES (%s, 'zernio', %s, %s, %s, %s, true, now() - interval '10 minutes')
"""
_EVENT = "SELECT id FROM event_log WHERE organization_id = %s AND entity_kind = 'lead' AND entity_id = %s"
_TURN = "SELECT fn_automation_rodizio_atribuir(%s, %s, %s, %s)"


@dataclass
class Growth:
    """By archived rows: figure by name. Rates per second; everything else in milliseconds."""

    figures: dict[int, dict[str, float]] = field(default_factory=dict)
    bytes: dict[int, float] = field(default_factory=dict)

    def worst(self) -> tuple[str, float]:
        """The figure that grew most from the smallest to the largest, and by what factor."""
        small, large = self.figures[min(self.figures)], self.figures[max(self.figures)]
        grown = {name: _grown(name, small[name], large[name]) for name in small if name in large}
        name = max(grown, key=lambda n: grown[n])
        return name, grown[name]


def is_rate(name: str) -> bool:
    return name.endswith("/s")


def _grown(name: str, small: float, large: float) -> float:
    return (small / large if is_rate(name) else large / small) if small and large else float("inf")


def measure(server: EmbeddedServer, scale: Scale, tell: Teller) -> Growth:
    """Fills, measures, fills on; the smallest and the largest in turn, at the end."""
    site, found, there = make_site(server, "growth"), Growth(), 0
    rule, smallest = rotation_of(site), None
    for rows in scale.archived:
        began = time.monotonic()
        fill(site, rule, there, rows)
        there = rows
        tell(f"{rows:,} archived rows are there, after {time.monotonic() - began:.0f} s")
        found.bytes[rows] = database_bytes(site) / rows
        if smallest is None:
            smallest = site.copy("growth_smallest")
        elif rows < scale.archived[-1]:
            [found.figures[rows]] = _in_turn([site.copy(f"growth_{rows}")], scale, rounds=1)
            tell(f"measured with {rows:,} archived rows")
    assert smallest is not None
    both = _in_turn([smallest, site], scale, rounds=scale.growth_rounds)
    found.figures[scale.archived[0]], found.figures[scale.archived[-1]] = both
    tell(f"measured with {scale.archived[0]:,} and {scale.archived[-1]:,} archived rows, in turn")
    return found


def _in_turn(sites: Sequence[Site], scale: Scale, *, rounds: int) -> list[dict[str, float]]:
    """The figures of each, medians of what each round gave. A page's is the median of a round's looks, which
    lie within a second for all sites: of all rounds' looks together, a busy round and a quiet one leave the
    median between the two, where a look more or less decides. Pages first, as nothing waits when a round
    begins.
    """
    taken: list[dict[str, list[float]]] = [defaultdict(list) for _ in sites]
    for _ in range(rounds):
        with ExitStack() as stack:
            ports = [(site, stack.enter_context(site.web())[0]) for site in sites]
            for name, times in timed_looks(ports, scale.looks):
                for figures, took in zip(taken, times, strict=True):
                    figures[f"page {name}, ms"].append(statistics.median(took) * 1000)
        for part in (_answer, _replay, _turns):
            for site, figures in zip(sites, taken, strict=True):
                for name, figure in part(site, scale).items():
                    figures[name].append(figure)
    return [{name: statistics.median(each) for name, each in figures.items()} for figures in taken]


def _answer(site: Site, scale: Scale) -> dict[str, float]:
    with site.web() as (port, _process):
        people = max(1, scale.archived[0] // 50)  # who are known at every size
        plan = site.plan(
            port, connections=16, seconds=scale.growth_seconds, warm_up=scale.warm_up, senders=people
        )
        outcome = drive(plan)
    return {"answer, messages/s": outcome.rate, "answer, p99": outcome.p99}


def _replay(site: Site, scale: Scale) -> dict[str, float]:
    """A round over rows that all wait, each with a body that was never ingested, and over no others."""
    run = f"replay{time.monotonic_ns() % 10**8}"
    with psycopg.connect(site.owner_url) as conn:
        conn.execute("DELETE FROM webhook_events_log WHERE processed_at IS NULL")
        conn.cursor().executemany(_PENDING, list(_pending(site, run, scale.replayed)))
    seconds = asyncio.run(_round(site))
    return {"replay round, rows/s": scale.replayed / seconds}


def _pending(site: Site, run: str, rows: int) -> Iterator[tuple[object, ...]]:
    for number in range(rows):
        body = bodies.one(site.demo.account_id, run, number)
        yield uuid7(), site.demo.organization_id, site.demo.channel_id, HEADERS, body


async def _round(site: Site) -> float:
    db = Database(site.app_url, name="bench replay", size=6, statement_timeout=15.0)
    await db.open()
    try:
        began = time.monotonic()
        while site.waiting():
            await replay_round(db, wait=5.0)
        return time.monotonic() - began
    finally:
        await db.close()


def _turns(site: Site, scale: Scale) -> dict[str, float]:
    """Turns of one rule in a row, on one connection, each for a lead of its own."""
    org, rule, made = site.demo.organization_id, rotation_of(site), list[tuple[UUID, UUID]]()
    with psycopg.connect(site.owner_url, autocommit=True) as conn:
        contact = conn.execute(
            "SELECT id FROM contacts WHERE organization_id = %s LIMIT 1", (org,)
        ).fetchone()
        assert contact is not None
        for _ in range(scale.turns // 3):
            lead = uuid7()
            conn.execute(
                "INSERT INTO crm_leads (organization_id, id, contact_id, title, source)"
                " VALUES (%s, %s, %s, 'Pedido', 'form')",
                (org, lead, contact[0]),
            )
            event = conn.execute(_EVENT, (org, lead)).fetchone()
            assert event is not None
            made.append((lead, event[0]))
    with psycopg.connect(site.app_url, autocommit=True) as conn:
        began = time.monotonic()
        for lead, event_id in made:
            conn.execute(_TURN, (org, rule, lead, event_id))
        seconds = time.monotonic() - began
    return {"rotation, turns/s": len(made) / seconds}


def tables(found: Growth) -> list[Table]:
    """What the report shows."""
    sizes = sorted(found.figures)
    table = Table("Growth: by archived rows", ("", *(f"{size:,}" for size in sizes), "largest to smallest"))
    small, large = found.figures[sizes[0]], found.figures[sizes[-1]]
    for name in small:
        factor = _grown(name, small[name], large.get(name, 0.0))
        table.add(name, *(found.figures[size].get(name, 0.0) for size in sizes), f"{factor:.2f} ×")
    table.add("database bytes per archived row", *(found.bytes[size] for size in sizes), "")
    return [table]
