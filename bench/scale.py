"""How long and how much: the full run, the quick one of CI, and the smoke test's."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Times in seconds, sizes in rows or messages."""

    name: str
    answer_seconds: float
    connections: tuple[int, ...]
    beside_seconds: float
    peers: bool
    probe_seconds: float
    through_seconds: float
    archived: tuple[int, ...]
    replayed: int
    growth_seconds: float
    overload_seconds: float
    drain_seconds: float
    starts: int
    inbox: int
    turns: int


FULL = Scale(
    "full", answer_seconds=8, connections=(1, 16, 64, 256), beside_seconds=5, peers=True, probe_seconds=6,
    through_seconds=60, archived=(10_000, 1_000_000, 5_000_000), replayed=2_000, growth_seconds=5,
    overload_seconds=30, drain_seconds=120, starts=3, inbox=2_000, turns=1_500,
)  # fmt: skip
QUICK = Scale(
    "quick", answer_seconds=2, connections=(1, 16, 64, 256), beside_seconds=2, peers=False, probe_seconds=2,
    through_seconds=5, archived=(2_000, 20_000), replayed=200, growth_seconds=2, overload_seconds=3,
    drain_seconds=60, starts=1, inbox=300, turns=300,
)  # fmt: skip
SMOKE = Scale(
    "smoke", answer_seconds=0.4, connections=(1, 8), beside_seconds=1, peers=False, probe_seconds=0.5,
    through_seconds=0.5, archived=(100, 200), replayed=10, growth_seconds=0.3, overload_seconds=0.5,
    drain_seconds=30, starts=1, inbox=20, turns=20,
)  # fmt: skip
