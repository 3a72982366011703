"""How long and how much: the full run, the quick one of CI, and the smoke test's."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Times in seconds, sizes in rows or messages. `apart`: each number of connections has processes of its
    own.

    `install`: whether environments of peers are made where they are missing; else those peers are left out.
    `probes`, `tries`: how often at most a rate is looked for, and offered for `through_seconds`.
    `drain_seconds`: how long what was accepted is waited for, at most; `ingest_seconds`: after an overload.
    """

    name: str
    warm_up: float
    answer_seconds: float
    connections: tuple[int, ...]
    apart: bool
    beside_seconds: float
    peers: bool
    install: bool
    probes: int
    probe_seconds: float
    tries: int
    through_seconds: float
    archived: tuple[int, ...]
    replayed: int
    growth_seconds: float
    growth_rounds: int
    looks: int
    overload_seconds: float
    drain_seconds: float
    ingest_seconds: float
    starts: int
    inbox: int
    turns: int


FULL = Scale(
    "full", warm_up=1, answer_seconds=6, connections=(1, 16, 64, 256), apart=True,
    beside_seconds=4, peers=True, install=True, probes=8, probe_seconds=10, tries=4, through_seconds=60,
    archived=(10_000, 1_000_000, 5_000_000), replayed=600, growth_seconds=3, growth_rounds=2, looks=11,
    overload_seconds=30, drain_seconds=15, ingest_seconds=90, starts=3, inbox=2_000, turns=1_500,
)  # fmt: skip
QUICK = Scale(
    "quick", warm_up=0.3, answer_seconds=1, connections=(1, 16, 64, 256), apart=False,
    beside_seconds=1, peers=True, install=False, probes=2, probe_seconds=1.5, tries=1, through_seconds=3,
    archived=(2_000, 20_000), replayed=100, growth_seconds=1, growth_rounds=1, looks=1, overload_seconds=2,
    drain_seconds=1, ingest_seconds=1, starts=1, inbox=200, turns=300,
)  # fmt: skip
SMOKE = Scale(
    "smoke", warm_up=0.2, answer_seconds=0.4, connections=(1, 8), apart=False,
    beside_seconds=1, peers=False, install=False, probes=2, probe_seconds=0.5, tries=1, through_seconds=0.5,
    archived=(100, 200), replayed=10, growth_seconds=0.3, growth_rounds=1, looks=1, overload_seconds=0.5,
    drain_seconds=3, ingest_seconds=3, starts=1, inbox=20, turns=20,
)  # fmt: skip
