"""The optional Standard Webhooks signature, besides the Bearer (provider facts 4)."""

import base64
import hmac
import json
from typing import Any

import psycopg
import pytest

from portaria.accounts.credentials import BadSecret, Signatures
from portaria.db.pool import Database
from tests.accounts.conftest import TOKEN, open_inbox
from tests.accounts.workbench import envelope

SECRET = "whsec_c3RhbmRhcmQtd2ViaG9va3MtZXhlbXBsby0zMmJ5dGVzIQ=="
OLD_SECRET = "whsec_Y2hhdmUtYW50aWdhLWRvLWV4ZW1wbG8tMzItYnl0ZXMhIQ=="
BODY = b'{"type":"message.received","timestamp":"2026-08-20T13:00:01Z","data":{"id":"exemplo"}}'
GIVEN = {
    "webhook-id": "msg_exemplo01",
    "webhook-timestamp": "1787230801",
    "webhook-signature": "v1,jbLHY6YSHI5ofSLWliZVoQ0mzYUX/lEwRUTrHF3CJKc="
    " v1,meDCM4To/sN3eeIxK4nl61ZcNuZDV6uTqQwfEhut7es=",
}
SIGNED_AT = 1_787_230_801


def headers(**more: bytes) -> list[tuple[bytes, bytes]]:
    """The vector's headers, some of them replaced (`_` for `-`)."""
    given = {name.encode(): value.encode() for name, value in GIVEN.items()}
    given |= {name.replace("_", "-").encode(): value for name, value in more.items()}
    return list(given.items())


def sign(body: bytes, at: int, secret: str = SECRET) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"msg_1.{at}.".encode() + body, "sha256")
    signature = "v1," + base64.b64encode(digest).decode()
    return {"webhook-id": "msg_1", "webhook-timestamp": str(at), "webhook-signature": signature}


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET, SECRET.removeprefix("whsec_")])
def test_the_vector_holds_under_either_of_its_secrets(secret: str) -> None:
    assert Signatures([secret]).match(headers(), BODY, SIGNED_AT)
    assert Signatures(["whsec_" + "A" * 32, secret]).match(headers(), BODY, SIGNED_AT)
    assert not Signatures(["whsec_" + "A" * 32]).match(headers(), BODY, SIGNED_AT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"webhook_id": b"msg_exemplo02"},
        {"webhook_timestamp": b"1787230802"},
        {"webhook_signature": b""},
        {"webhook_signature": b"v1,"},
        {"webhook_signature": b"v2,jbLHY6YSHI5ofSLWliZVoQ0mzYUX/lEwRUTrHF3CJKc="},
        {"webhook_signature": b"jbLHY6YSHI5ofSLWliZVoQ0mzYUX/lEwRUTrHF3CJKc="},
        {"webhook_signature": b"v1,\xe9\xff v1,caf\xc3\xa9"},
        {"webhook_timestamp": b"1787230801.0"},
        {"webhook_timestamp": b"-1787230801"},
        {"webhook_timestamp": "١٧٨٧٢٣٠٨٠١".encode()},
        {"webhook_timestamp": b"9" * 5_000},
        {"webhook_id": b""},
    ],
)
def test_anything_else_is_refused_and_never_an_exception(wrong: dict[str, bytes]) -> None:
    """C3."""
    assert not Signatures([SECRET]).match(headers(**wrong), BODY, SIGNED_AT)


def test_one_changed_byte_of_the_body_is_refused() -> None:
    signatures = Signatures([SECRET])
    assert not signatures.match(headers(), BODY + b" ", SIGNED_AT)
    assert not signatures.match([], BODY, SIGNED_AT)
    assert not signatures.match([*headers(), (b"Webhook-Id", b"msg_2")], BODY, SIGNED_AT)


def test_unknown_versions_are_skipped() -> None:
    given = b"v1a,xxxx v9,yyyy " + GIVEN["webhook-signature"].encode()
    assert Signatures([SECRET]).match(headers(webhook_signature=given), BODY, SIGNED_AT)


@pytest.mark.parametrize(
    ("away", "within"), [(0, True), (300, True), (-300, True), (301, False), (-301, False)]
)
def test_five_minutes_either_way(away: int, within: bool) -> None:
    assert Signatures([SECRET]).match(headers(), BODY, SIGNED_AT + away) is within


def test_the_timestamp_is_in_seconds_and_milliseconds_are_refused() -> None:
    """C4."""
    signatures = Signatures([SECRET])
    for at, good in ((1_790_000_000, True), (1_790_000_000_000, False)):
        given = [(name.encode(), value.encode()) for name, value in sign(BODY, at).items()]
        assert signatures.match(given, BODY, 1_790_000_000) is good


@pytest.mark.parametrize(
    "secret", ["whsec_", "whsec_c2hvcnQ=", "not base64!", "whsk_" + "A" * 32, "segredo é"]
)
def test_a_secret_that_cannot_be_one_is_refused_at_the_start_and_not_repeated(secret: str) -> None:
    with pytest.raises(BadSecret) as caught:
        Signatures([secret])
    assert str(caught.value) == "a signature secret is whsec_ and the base64 of at least 24 random bytes"


def test_it_is_off_unless_a_secret_is_set() -> None:
    assert not Signatures([]).on
    assert not Signatures(["", " "]).on


async def test_on_the_route_it_is_asked_besides_the_token(db: Database, owner: psycopg.Connection) -> None:
    body = json.dumps(envelope()).encode()
    bearer = {"authorization": f"Bearer {TOKEN}"}
    async with open_inbox(db, owner, secrets=(SECRET,), now=SIGNED_AT) as inbox:

        async def post(raw: bytes, given: dict[str, str]) -> tuple[int, Any]:
            answer = await inbox.post(raw, given)
            return answer.status_code, answer.json().get("code")

        assert await post(body, bearer) == (401, "invalid_signature")
        assert await post(b"not json", bearer) == (401, "invalid_signature")
        assert await post(body, sign(body, SIGNED_AT)) == (401, "unauthorized")
        assert await post(body, bearer | sign(body, SIGNED_AT - 301)) == (401, "invalid_signature")
        assert inbox.events() == []
        assert await post(body, bearer | sign(body, SIGNED_AT)) == (202, None)
        assert inbox.notices() == []
