"""Through: from POST to all effects, sustained with a flat backlog, beside pgbench running the same SQL.

The rate is offered, not taken: probes find the highest at which the backlog stays flat, then it is
sustained. Every tenth message is from somebody new, here and there. One web and one worker process. CPU
time and bytes per message come from the same minute.
"""

import time
from dataclasses import dataclass
from typing import Any

from bench import bodies
from bench.history import lived_in
from bench.load import Outcome, drive
from bench.pgbench import pgbench
from bench.report import Table, Teller
from bench.scale import Scale
from bench.site import Site, cpu_seconds, database_bytes, resident_mib
from portaria.db.embedded import EmbeddedServer

_STEP = 1.2
_GUESS = 0.72
_FOR_A_MINUTE = 0.88
"""Of what holds for a probe's seconds: over a minute, bursts of answers leave less for effects."""
_PERCENTILES = """
SELECT array_agg(round(p::numeric, 1)) FROM unnest((
    SELECT percentile_cont(ARRAY[0.5, 0.99, 1.0]) WITHIN GROUP (
        ORDER BY extract(epoch FROM processed_at - received_at) * 1000)
    FROM webhook_events_log WHERE status = 'processed' AND received_at > now() - interval '1 hour'
)) AS p
"""


@dataclass
class Through:
    """Messages per second; times from archive to effects in ms; CPU in ms per message."""

    sustained: float
    seconds: float
    flat: bool
    backlog: int
    to_effects: list[float]
    p50: float
    p99: float
    answers: dict[str, int]
    cpu: dict[str, float]
    resident: dict[str, float]
    bytes_per_message: float
    pgbench: dict[str, float]


def measure(server: EmbeddedServer, scale: Scale, tell: Teller) -> Through:
    """Probes, then the sustained run; again at a lower rate if its backlog was not flat."""
    beside = _pgbench(server, scale, tell)
    rate = _FOR_A_MINUTE * _probe(server, scale, tell, _GUESS * max(beside.values()))
    for tries_left in reversed(range(scale.tries)):
        result = Through(**_sustain(server, scale, rate), pgbench=beside)
        tell(f"through: {result.sustained:.0f}/s, {result.backlog} waiting at the end")
        if result.flat or not tries_left:
            break
        done = rate - result.backlog / (scale.warm_up + scale.through_seconds)
        rate = _FOR_A_MINUTE * min(rate, done)
    return result


def _pgbench(server: EmbeddedServer, scale: Scale, tell: Teller) -> dict[str, float]:
    found = {}
    for clients in (8, 16):
        site = lived_in(server, f"through_pgbench_{clients}")
        seconds = max(1.0, scale.through_seconds / 6)
        found[f"{clients} clients"] = pgbench(
            site,
            "through",
            clients=clients,
            seconds=seconds,
            variables={"known": bodies.KNOWN, "new_every": bodies.NEW_EVERY},
        ).rate
        tell(f"pgbench running the same statements, {clients} clients: {found[f'{clients} clients']:.0f}/s")
    return found


def _probe(server: EmbeddedServer, scale: Scale, tell: Teller, rate: float) -> float:
    """The highest rate with a flat backlog, to a step: up from a guess, or down to what of it was done."""
    site = lived_in(server, "through_probe")
    best, grown = 0.0, False
    with site.process("worker"), site.web() as (port, _web):
        for _ in range(scale.probes):
            _run(site, port, rate, scale.probe_seconds, scale.warm_up)
            waiting = site.waiting()
            tell(f"through, a probe at {rate:.0f}/s: {waiting} waiting")
            if _is_flat(waiting, rate):
                best, rate = rate, rate * _STEP
            else:
                done = rate - waiting / (scale.warm_up + scale.probe_seconds)
                grown, rate = True, min(rate / _STEP, max(done, rate / 4))
                site.drained(scale.drain_seconds)
            if best and grown:
                return best
    return rate


def _run(site: Site, port: int, rate: float, seconds: float, warm_up: float) -> Outcome:
    return drive(site.plan(port, rate=rate, seconds=seconds, connections=256, warm_up=warm_up, senders=0))


def _is_flat(waiting: int, rate: float) -> bool:
    """A quarter of a second's worth may be under way."""
    return waiting <= max(16, rate / 4)


def _sustain(server: EmbeddedServer, scale: Scale, rate: float) -> dict[str, Any]:
    site = lived_in(server, f"through_{round(rate)}_{time.monotonic_ns()}")
    with site.process("worker") as worker, site.web() as (port, web):
        assert server.pid is not None
        pids = {"web": web.pid, "worker": worker.pid, "postgres": server.pid}
        known = int(site.value("SELECT count(*) FROM messages"))
        size, before = database_bytes(site), {k: cpu_seconds(pid) for k, pid in pids.items()}
        outcome = _run(site, port, rate, scale.through_seconds, scale.warm_up)
        backlog = site.waiting()
        flat = _is_flat(backlog, rate)
        site.drained(scale.drain_seconds)
        messages = int(site.value("SELECT count(*) FROM messages")) - known or 1
        cpu = {k: (cpu_seconds(pid) - before[k]) * 1000 / messages for k, pid in pids.items()}
        resident = {k: resident_mib(pid) for k, pid in pids.items() if k != "postgres"}
        percentiles = [float(p) for p in site.value(_PERCENTILES) or []]
    return {
        "sustained": outcome.rate, "seconds": outcome.seconds, "flat": flat, "backlog": backlog,
        "to_effects": percentiles, "p50": outcome.p50, "p99": outcome.p99, "answers": outcome.answers,
        "cpu": cpu, "resident": resident, "bytes_per_message": (database_bytes(site) - size) / messages,
    }  # fmt: skip


def tables(found: Through) -> list[Table]:
    """What the report shows."""
    table = Table("Through: from POST to all effects", ("", "figure", "unit"))
    table.add("sustained", found.sustained, f"messages/s for {found.seconds:.0f} s")
    table.add("waiting at the end", found.backlog, "rows" if found.flat else "rows: the backlog grew")
    for label, value in zip(("p50", "p99", "longest"), found.to_effects, strict=False):
        table.add(f"archive to effects, {label}", value, "ms")
    for name, rate in found.pgbench.items():
        table.add(f"pgbench, the same statements, {name}", rate, "messages/s")
    for name, spent in found.cpu.items():
        table.add(f"CPU time, {name}", spent, "ms per message")
    table.add("database", found.bytes_per_message, "bytes per message")
    return [table]
