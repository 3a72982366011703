"""The plan and the world of a run are functions of the seed, and every run's plan hits every step."""

from collections import Counter
from uuid import UUID

import pytest

from tests.crash.plan import REQUIRED, STEPS, Kill, make_plan
from tests.crash.world import BRINGS, DeskAddress, Doors, make_world

DESKS = tuple(
    DeskAddress(UUID(int=n), f"/channel/{n}", f"account-{n}", "segredo-inventado-0123456789", f"/form/{n}")
    for n in (1, 2)
)
DOORS = Doors(DESKS, "/installation", "segredo-da-instalacao-0123456789", "/events", "token")


def test_the_same_seed_is_the_same_plan_and_the_same_world() -> None:
    assert make_plan(1000, 40, 7) == make_plan(1000, 40, 7)
    assert make_world(DOORS, 500, 7) == make_world(DOORS, 500, 7)
    assert make_plan(1000, 40, 7) != make_plan(1000, 40, 8)
    assert make_world(DOORS, 500, 7) != make_world(DOORS, 500, 8)


@pytest.mark.parametrize("kills", [8, 14, 100])
def test_every_plan_kills_at_each_step_and_as_often_as_it_was_told(kills: int) -> None:
    for seed in range(20):
        planned = [act for act in make_plan(10_000, kills, seed) if isinstance(act, Kill)]
        assert len(planned) == kills
        assert set(REQUIRED) <= {act.step for act in planned}
        assert max(act.at for act in planned) < 9_000


def test_a_plan_with_fewer_kills_than_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="7 kills cannot hit 8 steps"):
        make_plan(1000, 7, 1)


def test_the_world_brings_somebody_to_every_step_and_repeats_itself() -> None:
    world = make_world(DOORS, 1000, 3)
    assert len({delivery.id for delivery in world}) == len(world) == 1000
    assert all(sum(map(BRINGS[step], world)) >= 20 for step in STEPS)
    kinds = Counter(delivery.kind for delivery in world)
    assert set(kinds) == {"message", "echo", "outcome", "event", "form"}
    assert sum(d.copies > 1 or d.again for d in world) > 150
    assert [d.id for d in world if d.kind == "message"] != sorted(d.id for d in world if d.kind == "message")
