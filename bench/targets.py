"""What is expected of a full run on two cores, as ratios within it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.report import Table

UNMEASURED = float("nan")


@dataclass(frozen=True)
class Target:
    """A figure against its bound; `at_least` or at most. `passed` is None where nothing was measured."""

    what: str
    figure: float
    bound: float
    at_least: bool
    unit: str = "×"

    @property
    def passed(self) -> bool | None:
        if self.figure != self.figure:
            return None
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    @property
    def document(self) -> dict[str, Any]:
        return {**self.__dict__, "passed": self.passed}


def check(parts: Mapping[str, Any]) -> list[Target]:
    """Every target whose part was measured."""
    return [
        *(_answer(parts["answer"]) if "answer" in parts else ()),
        *(_through(parts["through"]) if "through" in parts else ()),
        *(_growth(parts["growth"]) if "growth" in parts else ()),
        *(_overload(parts["overload"]) if "overload" in parts else ()),
        *(_footprint(parts["footprint"]) if "footprint" in parts else ()),
        *(_rotation(parts["rotation"]) if "rotation" in parts else ()),
    ]


def _answer(found: Any) -> list[Target]:
    at = found.ours.get(64)
    if at is None:
        return []
    bounds = {
        "pgbench_insert_update": ("pgbench's INSERT + UPDATE as two commits", 1.5),
        "pgbench_insert": ("pgbench's one-row INSERT", 0.75),
        "bare": ("the bare web server", 0.5),
        "fastapi_procrastinate": ("FastAPI + Procrastinate", 10.0),
        "django_gunicorn": ("Django under gunicorn", 10.0),
    }
    made = [
        Target(f"answer at 64 connections to {label}", at["rate"] / found.beside[name]["rate"], bound, True)
        for name, (label, bound) in bounds.items()
        if "rate" in found.beside.get(name, {})
    ]
    made.append(Target("answer at 64 connections, p99", at["p99"], 15.0, False, "ms"))
    if 1 in found.ours:
        made.append(Target("answer at 1 connection, p50", found.ours[1]["p50"], 2.0, False, "ms"))
    return made


def _through(found: Any) -> list[Target]:
    sustained = found.sustained if found.flat else UNMEASURED
    beside = max(found.pgbench.values())
    return [
        Target("through to pgbench running the same statements", sustained / beside, 0.6, True),
        Target("through, one web and one worker process", sustained, 1_000, True, "messages/s"),
    ]


def _growth(found: Any) -> list[Target]:
    name, factor = found.worst()
    return [Target(f"growth from smallest to largest, worst figure ({name})", factor, 1.2, False)]


def _overload(found: Any) -> list[Target]:
    made = []
    for disk, outcome in found.items():
        made += [
            Target(f"overload, {disk}: answered after 4 s", outcome.late, 0, False, "answers"),
            Target(
                f"overload, {disk}: not taken or broken off",
                outcome.unsent + outcome.broken,
                0,
                False,
                "requests",
            ),
            Target(f"overload, {disk}: answered 200, lost", outcome.missing, 0, False, "messages"),
        ]
    return made


def _footprint(found: Any) -> list[Target]:
    return [
        Target("rescue of a killed worker's job", found.rescue, 15, False, "s"),
        Target("web process at 256 connections", found.web_at_256, 150, False, "MiB"),
    ]


def _rotation(found: Any) -> list[Target]:
    return [Target("hot rule to the bare lock + insert + update", found.hot / found.bare_hot, 0.8, True)]


def table(targets: list[Target]) -> Table:
    """The targets with what was measured."""
    made = Table("Targets", ("", "measured", "wanted", "held"))
    for target in targets:
        held = {True: "yes", False: "no", None: "not measured"}[target.passed]
        wanted = f"{'≥' if target.at_least else '≤'} {target.bound:g} {target.unit}"
        made.add(target.what, float(target.figure), wanted, held)
    return made
