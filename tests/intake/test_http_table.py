"""Every row of the table in spec 2.2 that leaves a row in the archive, on both routes, column by column.

What is answered before the archive is in `test_http_edges`, the database's own troubles in `test_outage`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from portaria.intake.providers import samples
from tests.intake.conftest import (
    INSTALLATION,
    Desk,
    OpenDesk,
    channel_path,
    channel_with_secret,
    encrypted,
)
from tests.intake.reused import database
from tests.support.factory import Channel
from tests.support.http import INSTALLATION_SECRET

__all__ = ["database"]

NOW = datetime.now(UTC)
UNSIGNED: dict[str, str | None] = {"X-Zernio-Signature": None, "X-Late-Signature": None}
WRONG: dict[str, str | None] = {"X-Zernio-Signature": "0" * 64}
ROUTES = pytest.mark.parametrize("route", ["channel", "installation"])


class Delivery:
    """A body on its way by one of the two routes, and what must be in the archive of it."""

    def __init__(self, desk: Desk, route: str, channel: Channel | None = None) -> None:
        self.desk, self.channel, self.on_installation = desk, channel or desk.channel, route == "installation"
        self.path = INSTALLATION if self.on_installation else channel_path(self.channel)
        self.secret = INSTALLATION_SECRET if self.on_installation else self.channel.secret

    async def send(self, body: Mapping[str, Any] | bytes, **headers: str | None) -> httpx.Response:
        """Signed; a header given is added, or left out where it is None."""
        self.raw = body if isinstance(body, bytes) else samples.encode(body)
        signed: dict[str, str | None] = dict(samples.sign(self.raw, self.secret))
        signed |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.headers = {name: value for name, value in signed.items() if value is not None}
        return await self.desk.client.post(self.path, content=self.raw, headers=self.headers)

    def assert_row(
        self,
        status: str,
        *,
        signed: bool | None,
        reason: str | None,
        event: str | None = None,
        external_id: str | None = None,
        owned: bool = True,
        row: dict[str, Any] | None = None,
    ) -> None:
        """`owned`: the row belongs to the session, which the channel's own route knew from the start."""
        row = row or self.desk.newest_row()
        assert self.desk.count("webhook_events_log") == 1
        assert row["raw_body"] == self.raw
        assert (row["status"], row["valid_signature"], row["error_message"]) == (status, signed, reason)
        assert (row["attempts"], row["last_attempt_at"]) == (0, None)
        assert (row["event_type"], row["external_id"]) == (event, external_id)
        known = owned or not self.on_installation
        assert row["organization_id"] == (self.channel.organization_id if known else None)
        assert row["channel_session_id"] == (self.channel.id if known else None)
        assert row["provider"] == (self.channel.provider if known else "zernio")
        assert abs(row["received_at"] - datetime.now(UTC)) < timedelta(seconds=30)
        assert (row["processed_at"] is None) == (status == "received")
        assert {n.lower(): v for n, v in self.headers.items()}.items() <= row["headers"].items()

    def put_away(self) -> None:
        """What was looked at, so that the next of a kind finds an empty archive."""
        self.desk.owner.execute("DELETE FROM webhook_events_log")


def refused(answer: httpx.Response, status: int, code: str) -> None:
    """A problem document, and `Retry-After` exactly where it is to come again."""
    assert (answer.status_code, answer.json()["code"], answer.json()["status"]) == (status, code, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert ("retry-after" in answer.headers) == (status == 503)


def ignored(answer: httpx.Response, reason: str) -> None:
    assert (answer.status_code, answer.json()["status"], answer.json()["reason"]) == (200, "ignored", reason)


def social(desk: Desk) -> Channel:
    """A second session of the same organization: an Instagram account on the same wire."""
    return channel_with_secret(
        desk.make, desk.channel.organization_id, provider="zernio_social", phone_number=None,
        secret="outro-segredo-inventado-9876543210",
    )  # fmt: skip


def social_message(channel: Channel, **changes: Any) -> dict[str, object]:
    return samples.message_received(
        channel.account_id,
        "mid.1",
        None,
        "Oi",
        NOW,
        "Ana",
        platform="instagram",
        sender_id="178414",
        **changes,
    )


# --- session archived ---------------------------------------------------------------------------


async def test_an_archived_session_ignores_whatever_else_is_wrong(desk: Desk) -> None:
    desk.owner.execute("UPDATE channel_sessions SET archived_at = now(), secret_ciphertext = NULL")
    delivery = Delivery(desk, "channel")
    for body in (samples.encode(desk.message()), b"no json"):
        for signature in ({}, UNSIGNED, WRONG):
            ignored(await delivery.send(body, **signature), "canal_arquivado")
            delivery.assert_row("processed", signed=None, reason="canal_arquivado")
            delivery.put_away()
    assert desk.count("notices") == desk.count("messages") == 0


async def test_an_archived_session_is_unknown_to_the_installations_route(desk: Desk) -> None:
    desk.owner.execute("UPDATE channel_sessions SET archived_at = now()")
    delivery = Delivery(desk, "installation")
    ignored(await delivery.send(desk.message(external_id="w1")), "conta_desconhecida")
    delivery.assert_row(
        "processed", signed=True, reason="conta_desconhecida", event="message.received", external_id="w1",
        owned=False,
    )  # fmt: skip


# --- our own secret -----------------------------------------------------------------------------

BAD_CIPHERTEXT = {
    "missing": None,
    "too short": "quinze-letras-0",
    "not decryptable": b"gAAAAABnot-a-token-of-any-key-of-ours",
}


@pytest.mark.parametrize("fault", BAD_CIPHERTEXT)
async def test_a_secret_of_ours_that_cannot_be_used_is_our_fault(desk: Desk, fault: str) -> None:
    kept = BAD_CIPHERTEXT[fault]
    ciphertext = encrypted(kept) if isinstance(kept, str) else kept
    desk.owner.execute("UPDATE channel_sessions SET secret_ciphertext = %s", (ciphertext,))
    delivery = Delivery(desk, "channel")
    for signature in ({}, UNSIGNED):
        refused(await delivery.send(b"not even json", **signature), 503, "unavailable")
        delivery.assert_row("error", signed=None, reason=f"channel secret {fault}")
        delivery.put_away()
    notices = desk.rows("SELECT organization_id, kind, severity, title, occurrences FROM notices")
    title = "O segredo de um canal não pôde ser lido"
    assert notices == [(desk.channel.organization_id, "channel_secret", "error", title, 2)]


@pytest.mark.parametrize(("secret", "fault"), [("", "missing"), ("quinze-letras-0", "too short")])
async def test_the_installations_secret_may_be_missing_or_short_too(
    open_desk: OpenDesk, secret: str, fault: str
) -> None:
    async with open_desk(installation_secret=secret) as desk:
        delivery = Delivery(desk, "installation")
        refused(await delivery.send(desk.message()), 503, "unavailable")
        delivery.assert_row("error", signed=None, reason=f"channel secret {fault}", owned=False)
        assert desk.rows("SELECT organization_id, kind FROM notices") == [(None, "channel_secret")]


# --- signature ----------------------------------------------------------------------------------


@ROUTES
async def test_a_signature_missing_or_wrong_is_refused_whatever_the_body(desk: Desk, route: str) -> None:
    delivery = Delivery(desk, route)
    for body in (samples.encode(desk.message()), b"no json"):
        for signature in (UNSIGNED, WRONG, {"X-Zernio-Signature": ""}, {"X-Zernio-Signature": "ab"}):
            refused(await delivery.send(body, **signature), 401, "invalid_signature")
            delivery.assert_row("error", signed=False, reason="signature missing or wrong", owned=False)
            delivery.put_away()
    assert desk.count("notices") == 0


async def test_one_changed_space_is_another_body(desk: Desk) -> None:
    """Case C1: verified are the bytes, escapes, spaces and trailing line ends included."""
    raw = b'{"b":1, "a":"\\u00e9"}\r\n'
    signature = samples.sign(raw, desk.channel.secret)["X-Zernio-Signature"]
    delivery = Delivery(desk, "channel")
    ignored(await delivery.send(raw), "conta_desconhecida")
    changed = raw.replace(b", ", b",")
    answer = await delivery.send(changed, X_Zernio_Signature=signature, X_Late_Signature=None)
    refused(answer, 401, "invalid_signature")


async def test_the_legacy_header_and_a_prefix_are_signatures_too(desk: Desk) -> None:
    delivery = Delivery(desk, "channel")
    assert (await delivery.send(desk.message(), X_Zernio_Signature=None)).status_code == 200
    raw = samples.encode(desk.message())
    prefixed = "sha256=" + samples.sign(raw, desk.channel.secret)["X-Zernio-Signature"].upper()
    assert (await delivery.send(raw, X_Zernio_Signature=prefixed)).status_code == 200


async def test_the_other_routes_secret_does_not_count(desk: Desk) -> None:
    own, shared = Delivery(desk, "channel"), Delivery(desk, "installation")
    own.secret, shared.secret = shared.secret, own.secret
    refused(await own.send(desk.message()), 401, "invalid_signature")
    refused(await shared.send(desk.message()), 401, "invalid_signature")


# --- not a JSON object --------------------------------------------------------------------------


@ROUTES
async def test_what_is_signed_but_no_json_object_is_refused(desk: Desk, route: str) -> None:
    delivery = Delivery(desk, route)
    for raw in (b"", b"[]", b'"text"', b"{", b"\xff\xfe{\x00}\x00"):
        refused(await delivery.send(raw), 400, "invalid_json")
        reason = desk.newest_row()["error_message"]
        assert reason.startswith("invalid_json: ")
        delivery.assert_row("error", signed=True, reason=reason, owned=False)
        delivery.put_away()


# --- account ------------------------------------------------------------------------------------


@ROUTES
async def test_an_account_that_nobody_registered_is_ignored(desk: Desk, route: str) -> None:
    delivery = Delivery(desk, route)
    body = samples.message_received("0" * 24, "w1", "+5511987650001", "Oi", NOW)
    ignored(await delivery.send(body), "conta_desconhecida")
    delivery.assert_row(
        "processed", signed=True, reason="conta_desconhecida", event="message.received", external_id="w1",
        owned=False,
    )  # fmt: skip
    assert desk.count("messages") == desk.count("contacts") == 0


async def test_the_account_of_another_organization_is_not_this_sessions(desk: Desk) -> None:
    other = channel_with_secret(desk.make, desk.make.organization("Outra"), phone_number=None)
    delivery = Delivery(desk, "channel")
    body = samples.message_received(other.account_id, "w1", "+5511987650001", "Oi", NOW)
    ignored(await delivery.send(body), "conta_desconhecida")
    delivery.assert_row(
        "processed", signed=True, reason="conta_desconhecida", event="message.received", external_id="w1"
    )
    assert desk.count("messages") == 0


@ROUTES
async def test_an_event_that_names_no_account_is_of_nobody(desk: Desk, route: str) -> None:
    delivery = Delivery(desk, route)
    body = {"id": "e1", "event": "verification.approved", "verification": {"to": "+5511987650001"}}
    ignored(await delivery.send(body), "conta_desconhecida")
    delivery.assert_row(
        "processed", signed=True, reason="conta_desconhecida", event="verification.approved",
        external_id="e1", owned=False,
    )  # fmt: skip


# --- new message --------------------------------------------------------------------------------


@ROUTES
@pytest.mark.parametrize("direction", ["received", "sent"])
async def test_a_new_message_is_accepted_before_it_is_processed(
    desk: Desk, route: str, direction: str
) -> None:
    delivery = Delivery(desk, route)
    sample = samples.message_received if direction == "received" else samples.message_sent
    body = sample(desk.channel.account_id, "w1", "+5511987650001", "Oi", NOW, "Ana")
    with desk.held("messages"):
        answer = await delivery.send(body)
        assert (answer.status_code, answer.json()["status"]) == (200, "accepted")
        delivery.assert_row("received", signed=True, reason=None, row=desk.log_row(answer))
    await desk.settled()
    event = f"message.{direction}"
    delivery.assert_row("processed", signed=True, reason=None, event=event, external_id="w1")
    assert desk.count("messages") == 1


@ROUTES
async def test_a_message_of_the_social_channel_is_processed_before_its_answer(desk: Desk, route: str) -> None:
    channel = social(desk)
    delivery = Delivery(desk, route, channel)
    answer = await delivery.send(social_message(channel))
    assert (answer.status_code, answer.json()["status"]) == (200, "processed")
    delivery.assert_row(
        "processed", signed=True, reason=None, event="message.received", external_id="mid.1",
        row=desk.log_row(answer),
    )  # fmt: skip
    assert desk.rows("SELECT channel_session_id, body FROM messages") == [(channel.id, "Oi")]
    assert desk.count("event_log", "event_type = 'ai_agent.dispatch_requested'") == 1


@ROUTES
async def test_a_social_message_that_cannot_be_written_is_delivered_again(desk: Desk, route: str) -> None:
    channel = social(desk)
    desk.failing("messages", "INSERT")
    delivery = Delivery(desk, route, channel)
    refused(await delivery.send(social_message(channel)), 500, "not_processed")
    reason = desk.newest_row()["error_message"]
    assert "no such luck" in reason
    delivery.assert_row("error", signed=True, reason=reason, event="message.received", external_id="mid.1")
    desk.mended("messages")
    assert (await delivery.send(social_message(channel))).json()["status"] == "processed"
    assert desk.count("messages") == 1


async def test_a_social_message_without_its_required_fields_is_an_error_with_a_notice(desk: Desk) -> None:
    channel = social(desk)
    delivery = Delivery(desk, "channel", channel)
    body = social_message(channel)
    body["message"] = {"platform": "instagram", "platformMessageId": "mid.1"}
    answer = await delivery.send(body)
    assert (answer.status_code, answer.json()["status"]) == (200, "error")
    row = desk.newest_row()
    assert (row["status"], row["valid_signature"]) == ("error", True)
    assert "message.sentAt" in row["error_message"]
    assert desk.rows("SELECT kind FROM notices") == [("event_contract",)]


# --- other known events -------------------------------------------------------------------------


def other_events(account_id: str, phone: str) -> dict[str, dict[str, object]]:
    account = {"accountId": account_id, "platform": "whatsapp"}
    at = {"timestamp": "2026-11-30T12:00:00.000Z"}
    template = {"templateId": "77", "name": "boas_vindas", "language": "pt_BR", "status": "REJECTED"}
    number = {"id": "n1", "phoneNumber": phone, "country": "BR", "profileId": "p1"}
    return {
        "message.delivered": samples.outcome("delivered", account_id, "w9", "+5511987650001", NOW),
        "message.edited": samples.edited(account_id, "w9", "+5511987650001", "novo", NOW),
        "message.deleted": samples.deleted(account_id, "w9", "+5511987650001", NOW),
        "whatsapp.number.suspended": {
            "id": "w9", "event": "whatsapp.number.suspended", "number": number, **at
        },
        "whatsapp.template.status_updated": {
            "id": "w9", "event": "whatsapp.template.status_updated", "account": account,
            "template": template, **at
        },
        "account.disconnected": {
            "id": "w9", "event": "account.disconnected", "account": account, "reason": "x", **at
        },
    }  # fmt: skip


WRITES = {"whatsapp.template.status_updated": "channel_templates", "account.disconnected": "channel_sessions",
          "whatsapp.number.suspended": "channel_sessions"}  # fmt: skip


@ROUTES
async def test_another_known_event_is_processed_before_its_answer(desk: Desk, route: str) -> None:
    assert desk.channel.phone_number
    delivery = Delivery(desk, route)
    for event, body in other_events(desk.channel.account_id, desk.channel.phone_number).items():
        answer = await delivery.send(body)
        assert (answer.status_code, answer.json()["status"]) == (200, "processed")
        reason = "unknown_message" if event.startswith("message.") else None
        delivery.assert_row("processed", signed=True, reason=reason, event=event, external_id="w9")
        delivery.put_away()


async def test_another_known_event_whose_write_fails_is_delivered_again(desk: Desk) -> None:
    assert desk.channel.phone_number
    desk.seed_message("w9", "outbound")
    delivery = Delivery(desk, "channel")
    for event, body in other_events(desk.channel.account_id, desk.channel.phone_number).items():
        table = WRITES.get(event, "messages")
        desk.failing(table, "INSERT OR UPDATE")
        refused(await delivery.send(body), 500, "not_processed")
        desk.mended(table)
        reason = desk.newest_row()["error_message"]
        assert "no such luck" in reason
        delivery.assert_row("error", signed=True, reason=reason, event=event, external_id="w9")
        delivery.put_away()
        assert (await delivery.send(body)).json()["status"] == "processed"
        delivery.assert_row("processed", signed=True, reason=None, event=event, external_id="w9")
        delivery.put_away()


# --- the rest -----------------------------------------------------------------------------------


def the_rest(account_id: str) -> dict[str, tuple[dict[str, object], str]]:
    account = {"id": account_id, "platform": "whatsapp", "username": "loja"}
    return {
        "reaction.received": (
            {"id": "e1", "event": "reaction.received", "account": account}, "evento_desconhecido",
        ),
        "webhook.test": (
            {"id": "e1", "event": "webhook.test", "message": "This is a test webhook from Zernio"},
            "webhook_de_teste",
        ),
        "message.received": (
            samples.message_received(account_id, "e1", "+5511987650001", "Oi", NOW) | {"test": True},
            "webhook_de_teste",
        ),
        "message.sent": (
            samples.message_sent(account_id, "e1", None, "Oi", NOW, platform="telegram", sender_id="9"),
            "outra_plataforma",
        ),
    }  # fmt: skip


@ROUTES
async def test_the_rest_is_ignored_with_its_reason(desk: Desk, route: str) -> None:
    delivery = Delivery(desk, route)
    for event, (body, reason) in the_rest(desk.channel.account_id).items():
        ignored(await delivery.send(body), reason)
        delivery.assert_row(
            "processed", signed=True, reason=reason, event=event, external_id="e1",
            owned=event != "webhook.test",
        )  # fmt: skip
        delivery.put_away()
    assert desk.count("messages") == 0


@ROUTES
async def test_a_test_that_names_anothers_account_is_first_of_all_of_an_unknown_account(
    desk: Desk, route: str
) -> None:
    body = samples.message_received("0" * 24, "e1", "+5511987650001", "Oi", NOW) | {"test": True}
    ignored(await Delivery(desk, route).send(body), "conta_desconhecida")


# --- what is archived ---------------------------------------------------------------------------


async def test_headers_are_archived_without_credentials_and_with_the_signature(desk: Desk) -> None:
    given = {
        "Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "X-Odd": "caf\xe9",
        "Content-Type": "application/cloudevents+json; charset=latin1",
    }  # fmt: skip
    raw = samples.encode(desk.message())
    headers = [
        (n, v.encode("latin1")) for n, v in {**samples.sign(raw, desk.channel.secret), **given}.items()
    ]
    answer = await desk.client.post(channel_path(desk.channel), content=raw, headers=headers)
    row = desk.log_row(answer)
    assert {"authorization", "cookie", "x-api-key"}.isdisjoint(row["headers"])
    assert (
        row["headers"]["x-zernio-signature"] == samples.sign(raw, desk.channel.secret)["X-Zernio-Signature"]
    )
    assert row["headers"]["x-odd"] == "caf\ufffd"
    assert row["headers"]["content-type"] == given["Content-Type"]
    assert row["raw_body"] == raw


EDGES: dict[str, tuple[bytes, str]] = {
    "an escaped NUL": (b'"oi\\u0000tchau"', "oi\ufffdtchau"),
    "six characters that look like one": (b'"\\\\u0000"', "\\u0000"),
    "a lone surrogate": (b'"\\ud800!"', "\ufffd!"),
    "a key given twice": (b'"one","text":"two"', "two"),
}


async def test_odd_text_is_cleaned_and_archived_as_it_came(desk: Desk) -> None:
    """Case E1."""
    for edge, (written, stored) in EDGES.items():
        raw = samples.encode(desk.message()).replace('"Olá"'.encode(), written)
        answer = await desk.post(raw)
        assert answer.json()["status"] == "accepted", (edge, answer.text)
        await desk.settled()
        assert desk.log_row(answer)["raw_body"] == raw, edge
        assert desk.one("SELECT body FROM messages ORDER BY arrival DESC LIMIT 1") == stored, edge


ODD_JSON: dict[str, tuple[bytes, int]] = {
    "4301 digits": (b',"x":' + b"7" * 4301, 200),
    "too large": (b',"x":1e999', 200),
    "not a number": (b',"x":NaN', 400),
    "infinite": (b',"x":-Infinity', 400),
    "nested": (b',"x":' + b"[" * 90 + b"]" * 90, 200),
    "nested too deep": (b',"x":' + b"[" * 100_000 + b"]" * 100_000, 400),
    "odd keys": (b',"a\\u0000b":{"\\udfff":"\\u0000"}', 200),
    "latin1": (b',"x":"\xff"', 400),
}


async def test_odd_json_is_taken_or_refused_and_never_a_traceback(desk: Desk) -> None:
    for edge, (more, status) in ODD_JSON.items():
        before = desk.count("messages")
        answer = await desk.post(samples.encode(desk.message())[:-1] + more + b"}")
        assert answer.status_code == status, (edge, answer.text)
        await desk.settled()
        assert desk.count("messages") - before == (status == 200), edge


async def test_a_byte_order_mark_is_skipped_and_utf_16_is_no_json(desk: Desk) -> None:
    body = samples.encode(desk.message())
    assert (await desk.post(b"\xef\xbb\xbf" + body)).json()["status"] == "accepted"
    refused(await desk.post(body.decode().encode("utf-16")), 400, "invalid_json")
