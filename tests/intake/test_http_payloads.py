"""Every sample body of the provider, minified and signed, gets its row of the table in spec 2.2."""

import psycopg
import pytest

from portaria.intake.providers import samples
from tests.intake.conftest import Desk, channel_with_secret
from tests.intake.reused import database
from tests.intake.zernio_payloads import NAMES, payload, vectors

__all__ = ["database"]

ACCOUNT, PROFILE = "68a1f0c2d3b4e5f60000acc1", "68a1f0c2d3b4e5f600009f01"


@pytest.fixture
def own(desk: Desk) -> Desk:
    """The desk, with the session that the samples are of."""
    desk.owner.execute("DELETE FROM channel_sessions")
    desk.channel = channel_with_secret(
        desk.make, desk.channel.organization_id, account_id=ACCOUNT, profile_id=PROFILE
    )
    return desk


@pytest.mark.parametrize("route", ["channel", "installation"])
async def test_every_sample_gets_its_row(own: Desk, route: str) -> None:
    for name in NAMES:
        body = payload(name)
        event = body["event"]
        answer = await (own.post if route == "channel" else own.post_to_installation)(body)
        await own.settled()
        row = own.log_row(answer)
        said = (answer.status_code, answer.json()["status"])
        if event in ("message.received", "message.sent"):
            assert said == (200, "accepted"), name
        elif event.startswith("verification."):
            assert said == (200, "ignored"), name
            assert row["error_message"] == "conta_desconhecida", name
        else:
            assert said == (200, "processed"), name
        assert (row["status"], row["valid_signature"], row["attempts"]) == ("processed", True, 0), name
        external_id = body.get("message", {}).get("platformMessageId", body["id"])
        assert (row["event_type"], row["external_id"]) == (event, external_id), name
        assert row["raw_body"] == samples.encode(body), name
    assert own.count("messages") == sum(
        name.startswith(("message.received", "message.sent")) for name in NAMES
    )
    assert own.count("notices", "kind = 'event_contract'") == 0


async def test_the_vectors_verify_byte_for_byte(own: Desk) -> None:
    seen = 0
    for vector in vectors():
        if vector["provider"] != "zernio":
            continue
        seen += 1
        raw = vector["rawBodyUtf8"].encode()
        path = f"/api/v1/webhooks/channel/{own.channel.token}"
        answer = await own.client.post(path, content=raw, headers=vector["headers"])
        assert answer.status_code == 200, vector["sample"]
        row = own.log_row(answer)
        assert (row["raw_body"], row["valid_signature"]) == (raw, True)
        spoilt = raw.replace(b"Loja", b"loja")
        refused = await own.client.post(path, content=spoilt, headers=vector["headers"])
        assert refused.status_code == 401, vector["sample"]
    assert seen >= 3


async def test_the_samples_account_registered_by_another_is_refused_to_us(own: Desk) -> None:
    """Spec 2.1: nobody can register another's account while it is live; once archived, it is free."""
    other = own.make.organization("Outra")
    with pytest.raises(psycopg.errors.UniqueViolation):
        channel_with_secret(own.make, other, account_id=ACCOUNT, phone_number=None)
    own.owner.execute("UPDATE channel_sessions SET archived_at = now()")
    theirs = channel_with_secret(own.make, other, account_id=ACCOUNT, phone_number=None)
    answer = await own.post_to_installation(payload("message.received.text"))
    assert own.log_row(answer)["organization_id"] == theirs.organization_id
