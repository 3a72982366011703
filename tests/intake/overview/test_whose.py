"""Whose answer is measured: the channel's that the delivery is for, by whichever route it came."""

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace

import httpx
import pytest

from portaria.asgi import Front
from portaria.intake.http import PREFIX
from portaria.intake.overview import Minutes
from portaria.intake.providers import samples
from tests.intake.conftest import INSTALLATION, Desk, channel_path
from tests.intake.reused import database
from tests.support.http import INSTALLATION_SECRET, serving

__all__ = ["database"]


@pytest.mark.parametrize("installation", [False, True])
async def test_answers_count_for_the_channels_organization(desk: Desk, installation: bool) -> None:
    minutes = Minutes(desk.db)
    door = replace(desk.intake, note=minutes.note)
    front = Front({PREFIX: door}, door, nullcontext, header_limit=64 * 1024)
    path = INSTALLATION if installation else channel_path(desk.channel)
    secret = INSTALLATION_SECRET if installation else desk.channel.secret
    elsewhere = desk.message() | {"account": {"id": "acc_of_nobody"}}
    async with serving(front) as url, httpx.AsyncClient(base_url=url) as client:
        for body in (desk.message(), elsewhere):
            raw = samples.encode(body)
            (await client.post(path, content=raw, headers=samples.sign(raw, secret))).raise_for_status()
        await client.post(path, content=b"{}", headers=samples.sign(b"{}", "somebody else's"))
    counted = Counter((organization, how) for organization, _, how, _ in minutes._counted)
    of_channel = desk.channel.organization_id
    unknown = (None if installation else of_channel, "ignored")
    unsigned = (None if installation else of_channel, "refused")
    assert counted == Counter([(of_channel, "accepted"), unknown, unsigned])
