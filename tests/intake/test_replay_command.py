"""`portaria replay` (spec 7): one round now, after the one in progress."""

import asyncio
import json
import os
import sys
from subprocess import PIPE

import pytest

from tests.intake.backroom import WHOLE, Backroom, until
from tests.intake.test_replay import THE_LOCK


@pytest.mark.parametrize("login", ["app", "owner"])
async def test_it_waits_for_the_round_in_progress_and_tells_what_it_did(room: Backroom, login: str) -> None:
    """The owner's URL does as well: the command works with the service's rights alone."""
    room.archived(room.message(), age="1 hour")
    url = room.database.app_url if login == "app" else room.database.owner_url
    with room.holding(THE_LOCK):
        asked = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "portaria", "replay", "--json",
            env=os.environ | {"DATABASE_URL": url}, stdout=PIPE,
        )  # fmt: skip
        await until(lambda: room.count("pg_stat_activity", "wait_event = 'advisory'") == 1, within=30)
        assert asked.returncode is None
        assert room.facts()["messages"] == 0
    said, _ = await asyncio.wait_for(asked.communicate(), 30)
    assert asked.returncode == 0
    assert json.loads(said) == {"processed": 1, "gave_up": 0, "failed": 0, "never_accepted": 0}
    assert room.facts() == WHOLE
