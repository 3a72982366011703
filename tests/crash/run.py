"""A whole run: load and kills, calm, every id looked up."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from tests.crash import checks
from tests.crash.chaos import Chaos, Hits
from tests.crash.desk import Installation
from tests.crash.plan import REQUIRED, STEPS, make_plan
from tests.crash.processes import surroundings
from tests.crash.senders import Senders, Tally
from tests.crash.world import make_world


@dataclass(frozen=True, slots=True)
class Result:
    """What a run came to. `faults`: what is wrong besides lost and doubled ids."""

    events: int
    seed: int
    hits: Hits
    tally: Tally
    verdict: checks.Verdict
    faults: list[str]
    counts: dict[str, int]
    seconds: float

    @property
    def good(self) -> bool:
        return self.verdict.good and not self.faults

    @property
    def last_line(self) -> str:
        return (
            f"{self.events} events, {self.hits.kills} kills, {self.verdict.lost} lost,"
            f" {self.verdict.doubled} doubled (seed {self.seed})"
        )


def carry_out(
    place: Installation, events: int, kills: int, seed: int, tell: Callable[[str], None] = lambda line: None
) -> Result:
    """The plan of this seed, on a fresh installation; its database goes on. From the main thread alone."""
    started = time.monotonic()
    plan, world = make_plan(events, kills, seed), make_world(place.doors, events, seed)
    senders = Senders(world, place.urls, seed=seed)
    place.start()
    sending = asyncio.run_coroutine_threadsafe(senders.run(), place.background.loop)
    chaos = Chaos(place, senders, sending, slack=max(20, events // kills // 2), seed=seed)

    def progress(number: int) -> None:
        if number % max(1, len(plan) // 10) == 0:
            passed = time.monotonic() - started
            tell(f"{passed:4.0f} s: {senders.tally.settled} deliveries settled, {chaos.hits.kills} kills")

    chaos.carry_out(plan, progress)
    senders.allowed = events
    place.calm()
    faults = _let_come_to_rest(place, sending)
    faults += [f"{step} was never hit" for step in REQUIRED if not chaos.hits.steps[step]]
    tally = senders.tally
    checks.tell_what_was_sent(place.owner, world, tally.answered, tally.named)
    verdict, counts = checks.look(place.owner), dict(checks.count(place.owner))
    return Result(events, seed, chaos.hits, tally, verdict, faults, counts, time.monotonic() - started)


def _let_come_to_rest(place: Installation, sending: "Future[None]") -> list[str]:
    """Waits for the last answers and for everything that was promised; then ends the processes.

    Time is moved by SQL: what is pending is five minutes old, what waits for its next attempt is due.
    """
    faults = []
    if not place.wait_until(sending.done, within=120):
        faults.append("the last deliveries were not answered in 120 s of calm")
        sending.cancel()
    else:
        sending.result()

    def rests() -> bool:
        for move in ("age_pending", "hurry_jobs", "bury_silent_workers", "reprocess_failed"):
            place.ask(move)
        time.sleep(0.2)
        return place.ask("unfinished") == [(0, 0, 0)]

    if not place.wait_until(rests, within=120):
        faults.append(f"not at rest after 120 s of calm: {place.ask('unfinished')}")
    place.ask("age_unaccepted")
    faults += _replay(place)
    for process in place.processes.values():
        faults += [f"{process.name} died by itself with {code}" for code in process.died_alone]
        if (code := process.end(15)) not in (0, -signal.SIGTERM):  # uvicorn passes its signal on at the end
            faults.append(f"{process.name} ended with {code} on SIGTERM")
    gone = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'portaria_app'"
    if not place.wait_until_gone(gone):
        faults.append("connections outlive their processes")
    return faults


def _replay(place: Installation) -> list[str]:
    """`portaria replay`, as an operator would."""
    done = subprocess.run(
        [sys.executable, "-m", "portaria", "replay"],
        env={**surroundings(), "DATABASE_URL": place.app_url}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [] if done.returncode == 0 else [f"portaria replay: {done.stderr}"]


def report(result: Result) -> list[str]:
    """Everything there is to say, the last line last."""
    steps, hits = result.hits.steps, result.hits
    lines = ["", "kills by the step they hit:"]
    lines += [f"  {step:8} {steps[step]:4}{'' if step in REQUIRED else '  (between)'}" for step in STEPS]
    lines += [f"  elsewhere {hits.kills - steps.total():3}"]
    lines += [f"kills by victim: {_listed(hits.victims)}", f"disturbances: {_listed(hits.disturbances)}"]
    lines += ["answers:"] + [f"  {n:6} × {what}" for what, n in sorted(result.tally.answers.items())]
    lines += [f"in the end: {_listed(result.counts)}"]
    lines += [f"missed: {each}" for each in hits.missed]
    lines += [f"FAULT {each}" for each in (*result.verdict.lines(), *result.faults)]
    return [*lines, f"{result.seconds:.0f} s", result.last_line]


def _listed(counted: dict[str, int] | Any) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counted.items()))
