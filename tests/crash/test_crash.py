"""The short version of `make crash`, and that its checks see what they look for."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash import checks
from tests.crash.desk import Installation, installation
from tests.crash.run import Result, carry_out, report

EVENTS, KILLS, SEED = 240, 10, 2026
PLANTED = re.split(r"(?m)^-- name: (\w+)$", Path(__file__).with_name("planted.sql").read_text())
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def ran() -> Iterator[tuple[Installation, Result]]:
    with installation() as place:
        result = carry_out(place, EVENTS, KILLS, SEED)
        place.keep = not result.good
        yield place, result


def test_no_kill_at_any_step_loses_or_doubles_what_was_answered(ran: tuple[Installation, Result]) -> None:
    """Two web, two workers, one database; a kill at every step, and processes frozen and cut off."""
    _, result = ran
    print("\n".join(report(result)))
    assert result.good, result.last_line
    assert len(result.tally.answered) > 0.8 * EVENTS
    assert result.hits.kills >= KILLS


def test_every_check_sees_its_fault(ran: tuple[Installation, Result]) -> None:
    """Each fault is planted in the database that the kills left behind, and taken back."""
    planted = dict(zip(PLANTED[1::2], PLANTED[2::2], strict=True))
    assert set(planted) == set(checks.CHECKS)
    conn = ran[0].owner
    for name, fault in planted.items():
        with conn.transaction(force_rollback=True):
            conn.execute("SET LOCAL session_replication_role = replica")
            conn.execute(fault)
            assert name in checks.look(conn).broken, f"{name} does not see what was planted for it"
