"""What is expected of a full run on two cores, as ratios within it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.report import Table

UNMEASURED = float("nan")
_CORES = (
    "messages are ingested beside it, 1.7 ms each at best, every tenth makes a lead for 10 ms more, of the"
    " two cores that also answer and send"
)
_PYTHON = "an answer is 0.27 ms of one Python process at best"
_WHOLE = (
    "pgbench neither answers nor reads messages, and runs no worker: 1 to 1.5 ms in the web process and 0.3"
    " in the worker beside 1.7 to 2.4 in PostgreSQL"
)
_PACE = (
    "what is held was promised at the pace of that moment, which falls: refusals and the load generator use"
    " the same two cores"
)
_FAULT = "a fault, whatever the machine"


@dataclass(frozen=True)
class Target:
    """A figure against its bound; `at_least` or at most. `passed` is None where nothing was measured; `why`:
    the reason where it is missed, as far as the profile in `docs/performance.md` tells.
    """

    what: str
    figure: float
    bound: float
    at_least: bool
    unit: str = "×"
    why: str = ""

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
        "pgbench_insert_update": ("pgbench's INSERT + UPDATE as two commits", 1.5, _PYTHON + "; " + _CORES),
        "pgbench_insert": ("pgbench's one-row INSERT", 0.75, _PYTHON + "; " + _CORES),
        "bare": ("the bare web server", 0.5, _PYTHON + ", of which 0.07 is all that the bare server does"),
        "fastapi_procrastinate": ("FastAPI + Procrastinate", 10.0, _PYTHON + "; the peer does nothing else"),
        "django_gunicorn": (
            "Django under gunicorn",
            10.0,
            _PYTHON + "; the peer has two and does nothing else",
        ),
    }
    made = [
        Target(
            f"answer at 64 connections to {label}",
            at["rate"] / found.beside[name]["rate"],
            bound,
            True,
            why=why,
        )
        for name, (label, bound, why) in bounds.items()
        if "rate" in found.beside.get(name, {})
    ]
    made.append(Target("answer at 64 connections, p99", at["p99"], 15.0, False, "ms", _CORES))
    if 1 in found.ours:
        why = "archive and accept alone are 1.7 ms, two statements with a flush each; " + _CORES
        made.append(Target("answer at 1 connection, p50", found.ours[1]["p50"], 2.0, False, "ms", why))
    return made


def _through(found: Any) -> list[Target]:
    sustained = found.sustained if found.flat else UNMEASURED
    beside = max(found.pgbench.values())
    return [
        Target("through to pgbench running the same statements", sustained / beside, 0.6, True, why=_WHOLE),
        Target(
            "through, one web and one worker process",
            sustained,
            1_000,
            True,
            "messages/s",
            f"pgbench makes {beside:.0f}/s of the same statements here, in C and without answering anybody",
        ),
    ]


def _growth(found: Any) -> list[Target]:
    name, factor = found.worst()
    why = "pages of some milliseconds vary by themselves"
    return [Target(f"growth from smallest to largest, worst figure ({name})", factor, 1.2, False, why=why)]


def _overload(found: Any) -> list[Target]:
    made = []
    for disk, outcome in found.items():
        refused = outcome.unsent + outcome.broken
        made += [
            Target(f"overload, {disk}: answered after 4 s", outcome.late, 0, False, "answers", _PACE),
            Target(f"overload, {disk}: not taken or broken off", refused, 0, False, "requests", _FAULT),
            Target(f"overload, {disk}: answered 200, lost", outcome.missing, 0, False, "messages", _FAULT),
        ]
    return made


def _footprint(found: Any) -> list[Target]:
    return [
        Target("rescue of a killed worker's job", found.rescue, 15, False, "s", _FAULT),
        Target(
            "web process at 256 connections",
            found.web_at_256,
            150,
            False,
            "MiB",
            "about 110 MiB are the program at rest; the rest are bodies and answers under way",
        ),
    ]


def _rotation(found: Any) -> list[Target]:
    why = "a turn also checks rule, members and lead under locks, and writes its reasons (docs/rotation.md)"
    ratio = found.hot / found.bare_hot
    return [Target("hot rule to the bare lock + insert + update", ratio, 0.8, True, why=why)]


def tables(targets: list[Target]) -> list[Table]:
    """The targets with what was measured, and for each that was missed the reason."""
    made = Table("Targets", ("", "measured", "wanted", "held"))
    missed = Table("Why a target was missed", ("", "reason, as far as docs/performance.md tells"))
    for target in targets:
        held = {True: "yes", False: "no", None: "not measured"}[target.passed]
        wanted = f"{'≥' if target.at_least else '≤'} {target.bound:g} {target.unit}"
        made.add(target.what, float(target.figure), wanted, held)
        if target.passed is False:
            missed.add(target.what, target.why)
    return [made, *([missed] if missed.rows else [])]
