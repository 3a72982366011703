"""Carries out the plan: waits for the load to come to each act, does it, notes what it hit."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg

from tests.crash.desk import Installation
from tests.crash.plan import REQUIRED, Disturbance, Kill
from tests.crash.senders import Senders
from tests.crash.world import BRINGS
from tests.support.tcp_proxy import Line

_GATE = 20027
_PATIENCE = 20.0
_SILENCE = 1.5


@dataclass(slots=True)
class Hits:
    """What was done. `steps` counts the kills that hit a parked statement, `victims` every kill."""

    steps: Counter[str] = field(default_factory=Counter)
    victims: Counter[str] = field(default_factory=Counter)
    disturbances: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        return self.victims.total()


class Chaos:
    """The plan's hand. Runs in the main thread, which alone may start processes."""

    def __init__(
        self, installation: Installation, senders: Senders, sending: "Future[None]", *, slack: int, seed: int
    ) -> None:
        self.place, self.senders, self.slack = installation, senders, slack
        self._sending = sending
        self.hits = Hits()
        self._rng = random.Random(f"chaos {seed}")
        self._silent: list[tuple[float, Line]] = []

    def carry_out(self, plan: list[Kill | Disturbance], tell: Callable[[int], None]) -> None:
        """Returns when every act was done, and every step hit that a run must hit."""
        for number, act in enumerate(plan):
            tell(number)
            self.senders.allowed = max(self.senders.allowed, act.at + self.slack)
            self._wait_for_load(act.at)
            self._do(act)
        for step in REQUIRED:
            if not self.hits.steps[step]:
                self._do(Kill(0, step, "lost", None, 0.0))
        planned = sum(isinstance(act, Kill) for act in plan)
        while self.hits.kills < planned:
            # Made up for: what was to be killed while the database was on its way down or up was missed.
            self._do(Kill(0, None, None, self._rng.choice(list(self.place.processes)), 0.0))
        while self._silent:
            self._look_after()
            time.sleep(0.01)

    def _do(self, act: Kill | Disturbance) -> None:
        try:
            if isinstance(act, Disturbance):
                self._disturb(act)
            elif act.step is None:
                self._kill_anywhere(act)
            else:
                self._kill_at(act)
        except psycopg.OperationalError as error:
            # The database was on its way down or up; what was to be looked at there is not to be had.
            self.hits.missed.append(f"{act}: {type(error).__name__}")

    def _kill_anywhere(self, act: Kill) -> None:
        victim = act.victim or ""
        if victim == "database":
            self.place.kill_database(act.down)
        elif victim == "backend":
            for (pid,) in self.place.ask("a_server_process"):
                os.kill(pid, signal.SIGKILL)
        else:
            self.place.processes[victim].kill(act.down)
        self.hits.victims[victim.partition("-")[0]] += 1

    def _kill_at(self, act: Kill) -> None:
        """Shuts the step's gate, waits until a statement is parked there, and kills whose it is.

        The replay claims what a first attempt has not finished in time: one is parked for it in T1.
        """
        step = act.step or ""
        for _try in range(3):
            with psycopg.connect(self.place.owner_url, autocommit=True) as keeper:
                if step == "claim":
                    _shut(keeper, "T1")
                    if not self._parked("T1"):
                        continue
                _shut(keeper, step)
                backend = self._parked(step)
                victim = backend and self._process_of(backend)
                if backend and victim and self._strike(act, victim, backend):
                    self.hits.steps[step] += 1
                    return
                self.place.ask("open")
        self.hits.missed.append(f"{act}: nothing came by")

    def _strike(self, act: Kill, victim: str, backend: int) -> bool:
        """Whether the kill hit the statement while it was parked. The gate is open afterwards."""
        if act.ending == "database":
            self.place.kill_database(act.down)
            self.hits.victims["database"] += 1
            self.place.ask("open")
            return True
        self.place.processes[victim].kill(act.down)
        self.hits.victims[victim.partition("-")[0]] += 1
        hit = any(pid == backend for (pid,) in self.place.ask("parked", step=act.step))
        if act.ending == "lost":
            self.place.owner.execute("SELECT pg_terminate_backend(%s)", (backend,))
        self.place.ask("open")
        return hit

    def _parked(self, step: str) -> int | None:
        """The server process that waits at the gate, brought there by a delivery out of turn if need be."""
        found: list[int] = []
        urged_at = 0.0

        def somebody() -> bool:
            nonlocal urged_at
            found.extend(pid for (pid,) in self.place.ask("parked", step=step))
            if not found and time.monotonic() - urged_at > 0.3:
                urged_at = time.monotonic()
                self.place.background.call(self.senders.urge, BRINGS[step])
                if step == "claim":
                    self.place.ask("age_pending")
            return bool(found)

        self._wait(somebody, within=_PATIENCE)
        return found[0] if found else None

    def _process_of(self, backend: int) -> str | None:
        for name, proxy in self.place.proxies.items():
            if self.place.background.call(proxy.leads_to, backend):
                return name
        return None

    def _disturb(self, act: Disturbance) -> None:
        proxy, call = self.place.proxies[act.victim], self.place.background.call
        if act.kind == "freeze":
            self.place.processes[act.victim].freeze(act.seconds)
        elif act.kind == "cut":
            call(proxy.cut)
        elif act.kind == "cut_commit":
            call(proxy.cut_after, act.statement.encode())
        else:
            lines: list[Line] = call(list, proxy.lines)
            if not lines:
                return
            line = self._rng.choice(lines)
            call(line.silence)
            self._silent.append((time.monotonic() + _SILENCE * act.seconds, line))
        self.hits.disturbances[act.kind] += 1

    def _wait_for_load(self, settled: int) -> None:
        self._wait(lambda: self.senders.tally.settled >= settled, within=300)

    def _wait(self, condition: Callable[[], object], *, within: float) -> bool:
        def looked_after() -> object:
            self._look_after()
            return condition()

        return self.place.wait_until(looked_after, within=within)

    def _look_after(self) -> None:
        """What is pending ages, and silent connections come to their end. Raises what the senders raise."""
        self.place.look_after()
        if self._sending.done():
            self._sending.result()
        now = time.monotonic()
        for until, line in [each for each in self._silent if each[0] <= now]:
            self._silent.remove((until, line))
            self.place.background.call(line.cut)
        if self._rng.random() < 0.002:
            with suppress(psycopg.OperationalError):
                self.place.ask("age_pending")


def _shut(keeper: psycopg.Connection, step: str) -> None:
    """Whoever comes to the step waits until `keeper` ends, or its gate's lock is let go."""
    keeper.execute("SELECT pg_advisory_lock(%s, number) FROM crash.gates WHERE step = %s", (_GATE, step))
    keeper.execute("UPDATE crash.gates SET shut = true WHERE step = %s", (step,))
