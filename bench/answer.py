"""Answer: how many signed messages are accepted per second and how fast, beside others on the same server.

All features are on: a worker runs too, and first attempts take their share of the web process, at their
bound as soon as more comes than is ingested. Each number of connections begins with an empty database.
"""

import subprocess
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench.beside import ALL_PEERS, BARE, NAIVE, Beside, NotInstalled, serving, versions_of
from bench.history import lived_in
from bench.load import Outcome, drive
from bench.pgbench import pgbench
from bench.report import Table, Teller
from bench.scale import Scale
from bench.site import cpu_seconds
from portaria.db.embedded import EmbeddedServer

_AT = 64


@dataclass
class Answer:
    """`ours` by connections; `beside` by name, at 64 connections. Rates per second, times in ms."""

    ours: dict[int, dict[str, Any]] = field(default_factory=dict)
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def capacity(self) -> float:
        return float(max(figures["rate"] for figures in self.ours.values()))


def measure(server: EmbeddedServer, scale: Scale, tell: Teller) -> Answer:
    """The whole part. What is compared with pgbench stands between two runs of pgbench."""
    found = Answer()
    pairs = [_pgbench(server, scale, "before")]
    _beside(found, BARE, server, scale, tell)
    for connections in scale.connections:
        found.ours[connections] = _ours(server, scale, connections)
        tell(f"answer at {connections} connections: {found.ours[connections]['rate']:.0f}/s")
    pairs.append(_pgbench(server, scale, "after"))
    for script in pairs[0]:
        rates = [pair[script] for pair in pairs]
        found.beside[f"pgbench_{script}"] = {"rate": sum(rates) / len(rates), "runs": rates}
        tell(f"pgbench {script}: {rates[0]:.0f}/s, {rates[1]:.0f}/s")
    _beside(found, NAIVE, server, scale, tell)
    for peer in ALL_PEERS if scale.peers else ():
        _beside(found, peer, server, scale, tell)
    return found


def _ours(server: EmbeddedServer, scale: Scale, connections: int) -> dict[str, Any]:
    site = lived_in(server, f"answer_{connections}")
    with site.process("worker"), site.web() as (port, web):
        before = cpu_seconds(web.pid)
        plan = site.plan(
            port, connections=connections, seconds=scale.answer_seconds,
            most=int(25_000 * (scale.answer_seconds + 1)) if connections > 1 else 50_000,
        )  # fmt: skip
        outcome = drive(plan)
        spent = cpu_seconds(web.pid) - before
        ingested = site.value("SELECT count(*) FROM webhook_events_log WHERE status = 'processed'")
    return {
        **_figures(outcome),
        "ingested_meanwhile": ingested,
        "web_cpu_share": spent / (outcome.seconds + 1),
    }


def _at(scale: Scale) -> int:
    """Connections of whatever is compared: 64, or fewer in a smaller run."""
    return min(_AT, scale.connections[-1])


def _pgbench(server: EmbeddedServer, scale: Scale, when: str) -> dict[str, float]:
    site = lived_in(server, f"pgbench_{when}")
    return {
        script: pgbench(
            site, script, clients=min(_AT, scale.connections[-1]), seconds=scale.beside_seconds
        ).rate
        for script in ("insert", "insert_update")
    }


def _beside(found: Answer, beside: Beside, server: EmbeddedServer, scale: Scale, tell: Teller) -> None:
    """Whatever goes wrong with one of the others is written down, not fatal."""
    try:
        with serving(beside, server) as plan:
            outcome = drive(
                replace(
                    plan,
                    connections=_at(scale),
                    seconds=scale.beside_seconds,
                    most=int(45_000 * (scale.beside_seconds + 1)),
                )
            )
        figures = _figures(outcome)
    except (NotInstalled, RuntimeError, OSError, subprocess.CalledProcessError) as error:
        found.beside[beside.name] = {"label": beside.label, "failed": str(error)[-300:]}
        tell(f"{beside.label}: could not be measured")
        return
    versions = versions_of(beside.pins) if beside.pins else {}
    found.beside[beside.name] = {"label": beside.label, **figures, "versions": versions}
    tell(f"{beside.label}: {figures['rate']:.0f}/s")


def _figures(outcome: Outcome) -> dict[str, Any]:
    kept = {k: v for k, v in asdict(outcome).items() if k not in ("ids", "began", "late", "unsent")}
    return {**kept, "p50": outcome.p50, "p99": outcome.p99, "max": outcome.accepted["max"]}


def tables(found: Answer) -> list[Table]:
    """What the report shows."""
    ours = Table(
        "Answer: accepted per second",
        ("connections", "per second", "p50 ms", "p99 ms", "max ms", "other answers"),
    )
    for connections, figures in found.ours.items():
        others = {k: v for k, v in figures["answers"].items() if k != "200"} or "none"
        ours.add(connections, figures["rate"], figures["p50"], figures["p99"], figures["max"], str(others))
    reference = found.ours.get(_AT) or found.ours[max(found.ours)]
    beside = Table("Beside it, 64 connections or clients", ("", "per second", "p99 ms", "Portaria is"))
    for name, figures in found.beside.items():
        label = figures.get("label", name.replace("_", " ", 1).replace("_", " + "))
        if "failed" in figures:
            beside.add(label, "not measured", "", figures["failed"].splitlines()[-1][:60])
        else:
            beside.add(
                label, figures["rate"], figures.get("p99", ""), f"{reference['rate'] / figures['rate']:.2f} ×"
            )
    return [ours, beside]
