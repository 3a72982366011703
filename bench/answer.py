"""Answer: how many signed messages are accepted per second and how fast, beside others on the same server.

All features are on: a worker runs too, and first attempts take their share of the web process, at their
bound as soon as more comes than is ingested. Each number of connections has a database and processes of its
own (a quick run has the same ones for all). Every tenth message is from somebody new, who becomes a contact,
a conversation and a lead that is given its owner; with one line beside, every message is.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from subprocess import Popen
from typing import Any

from bench.beside import ALL_PEERS, BARE, NAIVE, Beside, NotInstalled, serving, versions_of
from bench.history import lived_in
from bench.load import Outcome, drive
from bench.pgbench import pgbench
from bench.report import Table, Teller
from bench.scale import Scale
from bench.site import Site, cpu_seconds
from portaria.db.embedded import EmbeddedServer

_AT = 64
_AS_IN_LIFE, _STRANGERS = 0, 10**7
_INGESTED = "SELECT count(*) FROM webhook_events_log WHERE status = 'processed'"


@dataclass
class Answer:
    """`ours` by connections; `strangers` and, by name, `beside` at 64. Rates per second, times in ms."""

    ours: dict[int, dict[str, Any]] = field(default_factory=dict)
    strangers: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def capacity(self) -> float:
        return float(max(figures["rate"] for figures in self.ours.values()))


def measure(server: EmbeddedServer, scale: Scale, tell: Teller) -> Answer:
    """The whole part. What is compared with pgbench stands between two runs of pgbench."""
    found = Answer()
    pairs = [_pgbench(server, scale, "before")]
    _beside(found, BARE, server, scale, tell)
    for together in [[one] for one in scale.connections] if scale.apart else [scale.connections]:
        with _running(server, f"answer_{together[0]}") as (site, port, web):
            for connections in together:
                found.ours[connections] = _ours(site, port, web, scale, connections)
                tell(f"answer at {connections} connections: {found.ours[connections]['rate']:.0f}/s")
    with _running(server, "answer_strangers") as (site, port, web):
        found.strangers = _ours(site, port, web, scale, _at(scale), _STRANGERS)
    tell(f"answer to somebody new each time: {found.strangers['rate']:.0f}/s")
    pairs.append(_pgbench(server, scale, "after"))
    for script in pairs[0]:
        rates = [pair[script] for pair in pairs]
        found.beside[f"pgbench_{script}"] = {"rate": sum(rates) / len(rates), "runs": rates}
        tell(f"pgbench {script}: {rates[0]:.0f}/s, {rates[1]:.0f}/s")
    _beside(found, NAIVE, server, scale, tell)
    for peer in ALL_PEERS if scale.peers else ():
        _beside(found, peer, server, scale, tell)
    return found


@contextmanager
def _running(server: EmbeddedServer, name: str) -> Iterator[tuple[Site, int, Popen[bytes]]]:
    site = lived_in(server, name)
    with site.process("worker"), site.web() as (port, web):
        yield site, port, web


def _ours(
    site: Site, port: int, web: Popen[bytes], scale: Scale, connections: int, senders: int = _AS_IN_LIFE
) -> dict[str, Any]:
    before, ingested = cpu_seconds(web.pid), site.value(_INGESTED)
    outcome = drive(
        site.plan(
            port, connections=connections, seconds=scale.answer_seconds, warm_up=scale.warm_up,
            senders=senders,
        )
    )  # fmt: skip
    spent = cpu_seconds(web.pid) - before
    return {
        **_figures(outcome),
        "ingested_meanwhile": site.value(_INGESTED) - ingested,
        "web_cpu_share": spent / (outcome.seconds + scale.warm_up),
    }


def _at(scale: Scale) -> int:
    """Connections of whatever is compared: 64, or fewer in a smaller run."""
    return min(_AT, scale.connections[-1])


def _pgbench(server: EmbeddedServer, scale: Scale, when: str) -> dict[str, float]:
    site = lived_in(server, f"pgbench_{when}")
    return {
        script: pgbench(site, script, clients=_at(scale), seconds=scale.beside_seconds).rate
        for script in ("insert", "insert_update")
    }


def _beside(found: Answer, beside: Beside, server: EmbeddedServer, scale: Scale, tell: Teller) -> None:
    """Whatever goes wrong with one of the others is written down, not fatal."""
    try:
        with serving(beside, server, install=scale.install) as plan:
            given = replace(plan, connections=_at(scale), seconds=scale.beside_seconds, warm_up=scale.warm_up)
            if beside is BARE:
                given = replace(given, most=int(30_000 * (given.warm_up + given.seconds)))
            figures = _figures(drive(given))
    except (NotInstalled, RuntimeError, OSError, subprocess.CalledProcessError) as error:
        found.beside[beside.name] = {"label": beside.label, "failed": str(error)[-300:]}
        tell(f"{beside.label}: not measured: {str(error)[-80:]}")
        return
    versions = versions_of(beside.pins) if beside.pins else {}
    found.beside[beside.name] = {"label": beside.label, **figures, "versions": versions}
    tell(f"{beside.label}: {figures['rate']:.0f}/s")


def _figures(outcome: Outcome) -> dict[str, Any]:
    kept = {k: v for k, v in asdict(outcome).items() if k not in ("ids", "began", "late", "unsent")}
    return {**kept, "p50": outcome.p50, "p99": outcome.p99, "max": outcome.accepted["max"]}


def _at_most(found: Answer) -> int:
    return min(_AT, max(found.ours))


def tables(found: Answer) -> list[Table]:
    """What the report shows."""
    ours = Table(
        "Answer: accepted per second",
        ("connections", "per second", "p50 ms", "p99 ms", "max ms", "other answers"),
    )
    lines = {**found.ours, f"{_at_most(found)}, each from somebody new": found.strangers}
    for connections, figures in lines.items():
        others = {k: v for k, v in figures["answers"].items() if k != "200"} or "none"
        ours.add(connections, figures["rate"], figures["p50"], figures["p99"], figures["max"], str(others))
    reference = found.ours[_at_most(found)]
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
