"""Wall clocks that are wrong, differ, and are stepped (F7): what is due is the database's to say."""

import re
import signal
from pathlib import Path

import psycopg

import portaria
from portaria.ids import uuid7
from portaria.intake import tell
from tests.conftest import TestDatabase
from tests.crash.desk import furnish
from tests.crash.world import Delivery, make_world
from tests.faults.conftest import FrontDesk
from tests.faults.real_processes import real_processes
from tests.support.waiting import until

SEVEN_HOURS = 7 * 3600
SOURCE = Path(portaria.__file__).parent

ASKS_ITS_OWN_CLOCK = {
    "ids.py": "ids sort by when they were made, more or less; nothing is decided by them",
    "identity/tokens.py": "a token's own times, signed by whoever reads them",
    "push/vapid.py": "a signature's time, read by the push service",
    "accounts/http.py": "the age of a signature, within five minutes: the standard's own rule",
    "cli/simulate.py": "plays the provider",
    "cli/simulate_account.py": "plays the accounts service",
    "intake/overview/minutes.py": "which minute of a plot an answer counts for",
    "console/render.py": "how long ago, in words",
    "console/language.py": "how long ago, in words",
    "console/pages/overview.py": "where a plot begins",
}
"""Every module that looks at its machine's wall clock, and why that decides nothing."""


def test_no_other_module_asks_the_machine_what_time_it_is() -> None:
    wall_clock = re.compile(r"\btime\.time(_ns)?\b|\bdatetime\.(now|utcnow|today)\b|\bdate\.today\b")
    asking = {
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if wall_clock.search(path.read_text())
    }
    assert asking == ASKS_ITS_OWN_CLOCK.keys()


def pending(desk: FrontDesk, delivery: Delivery, age: str) -> None:
    """An accepted message of this age, by the database's clock, that nobody has tried."""
    desk.owner.execute(
        "INSERT INTO webhook_events_log (id, organization_id, channel_session_id, provider, raw_body,"
        " valid_signature, received_at) SELECT %s, organization_id, id, 'zernio', %s, true,"
        " clock_timestamp() - %s::interval FROM channel_sessions WHERE organization_id = %s",
        (uuid7(), delivery.raw, age, delivery.organization_id),
    )


def standing(desk: FrontDesk, delivery: Delivery) -> str:
    query = "SELECT status FROM webhook_events_log WHERE raw_body = %s"
    [(status,)] = desk.owner.execute(query, (delivery.raw,)).fetchall()
    return str(status)


async def test_with_clocks_hours_apart_and_stepped_the_windows_are_the_databases(
    database: TestDatabase, tmp_path: Path
) -> None:
    """Web seven hours ahead, worker seven hours behind, then the other way round."""
    wrong = {
        "web": {"CLOCK_WRONG_BY": str(SEVEN_HOURS)}, "worker": {"CLOCK_WRONG_BY": str(-SEVEN_HOURS)},
    }  # fmt: skip
    here = str(Path(__file__).with_name("wrong_clock"))
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        doors = furnish(owner)
        with real_processes(database.app_url, tmp_path, path=here, **wrong) as (url, processes):
            desk = FrontDesk(url, owner, doors)
            old = [d for d in make_world(doors, 100, 1, first=500) if d.kind == "message" and not d.opts_out]
            await windows_hold(desk, *old[:3])
            for process in processes.values():
                process.signal(signal.SIGUSR1)
            await windows_hold(desk, *old[3:6])
        titles = desk.rows("SELECT DISTINCT title FROM notices WHERE kind = 'event_dead'")
        assert titles == [(tell.NOT_IN_CRM,)]
        # Had the clocks been right, this would have shown nothing.
        ids = desk.rows("SELECT id, received_at FROM webhook_events_log WHERE headers <> '{}'")
        wrong_by = {round(((id_.int >> 80) / 1000 - at.timestamp()) / SEVEN_HOURS) for id_, at in ids}
        assert wrong_by == {-1, 1}


async def windows_hold(desk: FrontDesk, fresh: Delivery, late: Delivery, gone: Delivery) -> None:
    """What is too young is left alone, what is almost too old still comes in, what is too old does not."""
    pending(desk, fresh, "4 minutes")
    pending(desk, late, "5 hours 50 minutes")
    pending(desk, gone, "6 hours 10 minutes")
    tally = await desk.send(15)
    assert len(tally.answered) > 10
    await until(lambda: (standing(desk, late), standing(desk, gone)) == ("processed", "dead"))
    await until(lambda: desk.ask("unfinished")[0][1:] == (0, 0), within=30)
    assert standing(desk, fresh) == "received"
