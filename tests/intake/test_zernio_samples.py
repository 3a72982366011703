import json
from datetime import UTC, datetime
from typing import Any

import pytest

from portaria.intake.json_body import parse_object
from portaria.intake.providers import Delete, Edit, NewMessage, Outcome, provider_for, samples
from tests.intake.zernio_payloads import payload

zernio, social = provider_for("zernio"), provider_for("zernio_social")
AT = datetime(2026, 8, 20, 13, 0, 0, 250_000, tzinfo=UTC)
PERSON: dict[str, Any] = {"business_scoped_id": "BR.4071829364"}


def read(sample: samples.Sample) -> Any:
    """Over the wire: bytes, signature, account, parsing."""
    raw = samples.encode(sample)
    headers = samples.sign(raw, "segredo-inventado-0123456789")
    wire = {name.lower().encode(): value.encode() for name, value in headers.items()}
    assert zernio.verify(raw, wire, [b"segredo-inventado-0123456789"])
    body = parse_object(raw)
    assert zernio.account(body).account_id == "acc-1"
    return zernio.parse(body)


def test_what_is_built_is_read_back() -> None:
    received = read(
        samples.message_received("acc-1", "wamid.1", "+5511987650001", "Olá", AT, "Ana", "thread-1", **PERSON)
    )
    assert isinstance(received, NewMessage)
    assert (received.direction, received.external_id, received.body) == ("inbound", "wamid.1", "Olá")
    assert (received.phone, received.business_scoped_id) == ("+5511987650001", "BR.4071829364")
    assert (received.name, received.provider_conversation_id, received.sent_at) == ("Ana", "thread-1", AT)

    sent = read(samples.message_sent("acc-1", "wamid.2", "+5511987650001", "Oi", AT, "Ana", "thread-1"))
    assert isinstance(sent, NewMessage)
    assert (sent.direction, sent.phone, sent.name) == ("outbound", "+5511987650001", "Ana")

    error = {"code": 131047, "title": "Re-engagement message"}
    failed = samples.outcome("failed", "acc-1", "wamid.2", "+5511987650001", AT, error=error)
    assert read(failed) == Outcome("wamid.2", "failed", AT, error)
    assert read(samples.edited("acc-1", "wamid.1", "+5511987650001", "novo", AT)) == Edit(
        "wamid.1", "novo", AT
    )
    assert read(samples.deleted("acc-1", "wamid.2", "+5511987650001", AT)) == Delete("wamid.2", AT)


def test_one_person_on_one_account_is_one_thread() -> None:
    def thread(sample: samples.Sample) -> str:
        return str(read(sample).provider_conversation_id)

    first = thread(samples.message_received("acc-1", "wamid.1", "+5511987650001", "a", AT))
    assert thread(samples.message_sent("acc-1", "wamid.2", "+5511987650001", "b", AT)) == first
    assert thread(samples.message_received("acc-1", "wamid.3", "+5511987650002", "c", AT)) != first


def test_the_same_call_is_the_same_event_and_another_is_not() -> None:
    one = samples.message_received("acc-1", "wamid.1", "+5511987650001", "a", AT)
    assert one == samples.message_received("acc-1", "wamid.1", "+5511987650001", "a", AT)
    assert one["id"] != samples.message_received("acc-1", "wamid.2", "+5511987650001", "a", AT)["id"]
    assert one["id"] != samples.message_sent("acc-1", "wamid.1", "+5511987650001", "a", AT)["id"]


def test_people_without_a_phone_and_on_other_networks() -> None:
    by_id = read(samples.message_received("acc-1", "wamid.1", None, "a", AT, **PERSON))
    assert (by_id.phone, by_id.business_scoped_id) == (None, "BR.4071829364")
    sample = samples.message_received(
        "acc-1", "mid.1", None, "a", AT, platform="instagram", sender_id="17841"
    )
    received = social.parse(sample)
    assert isinstance(received, NewMessage)
    assert (received.channel_user, received.platform) == ("17841", "instagram")


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        (
            "message.received.text",
            samples.message_received("a", "w", "+5511987650001", "x", AT, "Ana", **PERSON, metadata={}),
        ),
        ("message.sent.phone-app", samples.message_sent("a", "w", "+5511987650001", "x", AT, "Ana")),
        ("message.delivered", samples.outcome("delivered", "a", "w", "+5511987650001", AT)),
        ("message.failed", samples.outcome("failed", "a", "w", "+5511987650001", AT, error={"code": 1})),
        ("message.edited", samples.edited("a", "w", "+5511987650001", "x", AT)),
        ("message.deleted", samples.deleted("a", "w", "+5511987650001", AT)),
    ],
)
def test_samples_have_the_fields_of_the_providers_own(name: str, sample: samples.Sample) -> None:
    optional = {"contactId", "name", "participantName", "businessScopedUserId", "profileId", "displayName"}

    def shape(body: Any) -> Any:
        return {
            field: shape(value) if field in ("message", "conversation", "account", "sender") else ...
            for field, value in body.items()
            if field not in optional
        }

    assert shape(sample) == shape(payload(name))


def test_the_bytes_are_those_of_json_stringify() -> None:
    assert samples.encode({"a": "é", "b": [1, None]}) == '{"a":"é","b":[1,null]}'.encode()
    assert samples.encode({"a": "\ud800\0"}) == rb'{"a":"\ud800\u0000"}'
    assert json.loads(samples.encode({"a": "\ud800"})) == {"a": "\ud800"}


def test_bytes_that_are_no_event_are_signed_too() -> None:
    headers = samples.sign(b"\xff", "segredo-inventado-0123456789")
    assert "X-Zernio-Event" not in headers
    assert headers["X-Late-Signature"] == headers["X-Zernio-Signature"]
