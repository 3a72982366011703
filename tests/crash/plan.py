"""The plan of a run: what is done to whom, and when; the same for the same seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

REQUIRED: Final = ("archive", "mark", "T1", "T2", "T3", "turn", "attempt", "job")
"""The steps that every run must hit at least once."""
STEPS: Final = (*REQUIRED, "receive", "begin", "claim", "form", "result", "ending")
"""And those between them: event with its job, the attempt's begin, the replay's claim, the form's lead, a
rule's result, the end of a job."""

Ending = Literal["lost", "committed", "database"]
"""What becomes of the parked statement: its process is killed and it is rolled back, or goes on to its
commit though nobody waits for it; or the database is killed."""

PROCESSES: Final = ("web-1", "web-2", "worker-1", "worker-2")
_STATEMENTS: Final = (
    "INSERT INTO webhook_events_log", "SET\n    valid_signature = true", "fn_ingest_",
    "fn_record_opt_out", "fn_message_effects", "fn_receive_incoming_event", "fn_begin_incoming_event",
    "fn_fail_incoming_event", "fn_submit_lead_form", "fn_take_turn",
    "fn_open_runs", "procrastinate_fetch_job", "DELETE FROM procrastinate_jobs", "COMMIT",
)  # fmt: skip
_Kind = Literal["freeze", "cut", "cut_commit", "half_open"]
_KINDS: Final[tuple[_Kind, ...]] = ("freeze", "cut", "cut_commit", "half_open")


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL once `at` deliveries were answered: of whoever is at `step`, or of `victim` wherever it is.

    `victim` is a process, `database` (the postmaster) or `backend` (one server process, after which the
    server recovers by itself). It is started again `down` seconds later.
    """

    at: int
    step: str | None
    ending: Ending | None
    victim: str | None
    down: float


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Once `at` deliveries were answered, `victim` (a process) suffers for `seconds`: `freeze` is SIGSTOP
    and SIGCONT, `cut` an end of all its connections, `cut_commit` the loss of the answer to the next
    `statement`, `half_open` a connection on which nothing is heard any more.
    """

    at: int
    kind: _Kind
    victim: str
    seconds: float
    statement: str


Act = Kill | Disturbance


def make_plan(events: int, kills: int, seed: int) -> list[Act]:
    """The acts in their order. Raises ValueError when there are fewer kills than steps to hit."""
    if kills < len(REQUIRED):
        raise ValueError(f"{kills} kills cannot hit {len(REQUIRED)} steps: {', '.join(REQUIRED)}")
    rng = random.Random(seed)
    acts: list[Act] = [*_kills(rng, events, kills), *_disturbances(rng, events, kills)]
    return sorted(acts, key=lambda act: act.at)


def _kills(rng: random.Random, events: int, kills: int) -> Iterator[Kill]:
    targeted: list[str | None] = list(STEPS[:kills])
    while len(targeted) < kills:
        targeted.append(rng.choice(STEPS) if rng.random() < 0.45 else None)
    rng.shuffle(targeted)
    for number, step in enumerate(targeted):
        # The load's last tenth is left alone, so that every step still comes by.
        at = int(events * (0.02 + 0.88 * (number + rng.random()) / kills))
        down = rng.choice((0.0, 0.0, 0.2, 1.0))
        if step is None:
            victims = ("web-1", "web-2", "worker-1", "worker-2", "database", "backend")
            [victim] = rng.choices(victims, weights=(20, 20, 17, 17, 14, 12))
            yield Kill(at, None, None, victim, down)
        else:
            endings: tuple[Ending, ...] = ("lost", "committed", "database")
            [ending] = rng.choices(endings, weights=(45, 40, 15))
            yield Kill(at, step, ending, None, down)


def _disturbances(rng: random.Random, events: int, kills: int) -> Iterator[Disturbance]:
    for _ in range(max(len(_KINDS), kills // 2)):
        [kind] = rng.choices(_KINDS, weights=(25, 15, 45, 15))
        # Past 10 s a frozen worker is taken for dead, and an idle transaction is ended.
        seconds = rng.choice((0.5, 1.5, 4.0, 14.0)) if kills >= 50 else rng.choice((0.5, 1.5))
        at = int(events * (0.02 + 0.88 * rng.random()))
        yield Disturbance(at, kind, rng.choice(PROCESSES), seconds, rng.choice(_STATEMENTS))
