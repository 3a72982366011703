"""`make bench`, or `python -m bench [part …]`: everything, or with QUICK=1 a short version.

Within 15 and 2 minutes on two virtual cores, the first installation of peers apart.

Ends with 0 whatever was measured: the targets are in the report, with what was measured beside each. With 1
when a part could not be measured.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import structlog

from bench import answer, footprint, growth, inbox, overload, report, rotation, targets, through
from bench.scale import FULL, QUICK, SMOKE, Scale
from bench.site import clear_leftovers, embedded_server
from portaria.db.embedded import EmbeddedServer

Measure = Callable[[EmbeddedServer, Scale, report.Teller], Any]


@dataclass(frozen=True)
class Part:
    """A part of the run: how it is measured, and what the report shows of it."""

    measure: Measure
    tables: Callable[[Any], list[report.Table]]


def _parts() -> dict[str, Part]:
    found = {
        module.__name__.removeprefix("bench."): Part(module.measure, module.tables)
        for module in (answer, through, growth, overload, footprint)
    }
    found["rotation"] = Part(
        lambda server, scale, tell: rotation.measure(server, scale.turns, tell), rotation.Rotation.tables
    )
    found["inbox"] = Part(
        lambda server, scale, tell: inbox.measure(server, scale.inbox, tell, install=scale.install),
        inbox.Inbox.tables,
    )
    return found


_PARTS = _parts()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(_PARTS)}; all by default")
    parser.add_argument("--scale", choices=["full", "quick", "smoke"])
    parser.add_argument("--results", type=Path, default=report.RESULTS, help="folder of the two files")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(_PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    chosen = given.scale or ("quick" if os.environ.get("QUICK", "0") not in ("", "0") else "full")
    scale = {"full": FULL, "quick": QUICK, "smoke": SMOKE}[chosen]
    names = given.parts or list(_PARTS)
    return 0 if run(scale, names, given.results).keys() == set(names) else 1


def run(scale: Scale, names: list[str], folder: Path) -> dict[str, Any]:
    """Measures the parts in turn on one server, shows and writes the report; returns what was found."""
    began, machine = time.monotonic(), report.machine()
    clear_leftovers()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    found: dict[str, Any] = {}
    failed: dict[str, str] = {}
    seconds: dict[str, float] = {}

    def tell(line: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {line}", flush=True)

    with embedded_server() as server:
        for name in names:
            tell(f"— {name}")
            started = time.monotonic()
            try:
                found[name] = _PARTS[name].measure(server, scale, tell)
            except (RuntimeError, OSError, psycopg.Error) as error:
                failed[name] = str(error)
                tell(f"{name} could not be measured: {error}")
            seconds[name] = time.monotonic() - started
    seconds["start and end"] = time.monotonic() - began - sum(seconds.values())
    expected = targets.check(found)
    parts = [t for name in found for t in _PARTS[name].tables(found[name])]
    judged, times = targets.tables(expected), report.times(seconds)
    report.show([*parts, *judged, times])
    name = "latest" if scale is FULL and len(names) == len(_PARTS) else scale.name
    facts = {
        "scale": scale.name, "minutes": sum(seconds.values()) / 60, "seconds": seconds, "machine": machine,
        "versions": report.versions(),
        "not_measured": failed, "targets": [t.document for t in expected], "parts": found,
    }  # fmt: skip
    tell(f"written to {report.write(folder, name, facts, [*judged, *parts, times])}")
    return found


if __name__ == "__main__":
    sys.exit(main())
