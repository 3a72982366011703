"""Rotation: turns per second of one hot rule and of 100 rules, beside the bare lock, insert and update.

Beside stands what any rotation must do: the rule's lock, one row of history, one owner; in a function of
three statements on the same tables (bare), and on tables without triggers, foreign keys and facts (plain).
What a turn costs more than the bare one is its checks, its locks on rule, members and lead, and the choice
with its reasons. All by pgbench, 16 connections, each turn a commit of its own, durability on:
`python -m bench.rotation --turns 5000`.
"""

import argparse
import json
import logging
import re
import subprocess
from dataclasses import asdict, dataclass
from typing import Final

import structlog

from bench.pgbench import SCRIPTS
from bench.report import Table, Teller, show
from bench.site import HERE, Site, embedded_server, make_site
from portaria.db.embedded import EmbeddedServer

_CLIENTS: Final = 16
_RULES: Final = 100


@dataclass
class Rotation:
    """Turns per second; each figure over `turns` of them, from `connections` at once."""

    turns: int
    hot: float
    bare_hot: float
    plain_hot: float
    spread: float
    bare_spread: float
    plain_spread: float
    connections: int = _CLIENTS
    rules: int = _RULES

    def tables(self) -> list[Table]:
        table = Table(
            f"Rotation: {self.turns:,} turns from {self.connections} connections",
            ["turns per second", "Portaria", "bare", "ratio", "plain tables", "ratio"],
        )
        for name, ours, bare, plain in (
            ("one rule", self.hot, self.bare_hot, self.plain_hot),
            (f"{self.rules} rules", self.spread, self.bare_spread, self.plain_spread),
        ):
            table.add(name, ours, bare, ours / bare, plain, ours / plain)
        return [table]


def measure(server: EmbeddedServer, turns: int, tell: Teller) -> Rotation:
    """A copy of one database for each figure, so that none finds the other's history."""
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))

    origin = _prepared(server, "rotation", turns)

    def taken(name: str, script: str, rules: int) -> float:
        rate = _per_second(origin.copy(f"rotation_{name}"), script, turns, rules)
        tell(f"rotation {name}: {rate:.0f} turns/s")
        return rate

    return Rotation(
        turns,
        plain_hot=taken("plain_hot", "plain_turn", 1),
        bare_hot=taken("bare_hot", "bare_turn", 1),
        hot=taken("hot", "turn", 1),
        plain_spread=taken("plain_spread", "plain_turn", _RULES),
        bare_spread=taken("bare_spread", "bare_turn", _RULES),
        spread=taken("spread", "turn", _RULES),
    )


def _prepared(server: EmbeddedServer, name: str, turns: int) -> Site:
    site = make_site(server, name)
    leads = (turns // _CLIENTS + 1) * _CLIENTS
    site.sql("UPDATE automation_rules SET is_active = false")
    site.sql(
        f"CREATE TABLE bench_scope AS SELECT '{site.demo.organization_id}'::uuid AS organization,"
        f" {leads} AS leads"
    )
    site.sql((HERE / "sql" / "rotation.sql").read_text(encoding="utf-8"))
    return site


def _per_second(site: Site, script: str, turns: int, rules: int) -> float:
    done = subprocess.run(
        [
            str(site.server.bin_dir / "pgbench"), "-n", "-M", "prepared", "-c", str(_CLIENTS), "-j", "2",
            "-t", str(turns // _CLIENTS + 1), "-f", str(SCRIPTS / f"{script}.sql"),
            f"-Dorg={site.demo.organization_id}", f"-Drules={rules}", site.app_url,
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    rate = re.search(r"tps = ([\d.]+)", done.stdout)
    if done.returncode != 0 or not rate:
        raise RuntimeError(f"pgbench {script}: {(done.stderr or done.stdout).strip()[-800:]}")
    _all_taken(site, script)
    return float(rate[1])


def _all_taken(site: Site, script: str) -> None:
    table = "bench_turns" if script == "plain_turn" else "automation_rodizio_atribuicoes"
    missing = site.value(f"SELECT (SELECT count(*) FROM bench_leads) - (SELECT count(*) FROM {table})")
    if missing:
        raise RuntimeError(f"{missing} turns are missing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5_000)
    parser.add_argument("--json", action="store_true", help="the figures as JSON on stdout")
    given = parser.parse_args()
    with embedded_server() as server:
        found = measure(server, given.turns, lambda text: None if given.json else print(text, flush=True))
    if given.json:
        print(json.dumps(asdict(found)))
    else:
        show(found.tables())


if __name__ == "__main__":
    main()
