import pytest

from portaria.intake.providers import AccountRef, Kind, provider_for
from tests.intake.zernio_payloads import MISSING, NAMES, payload

zernio, social = provider_for("zernio"), provider_for("zernio_social")
ACCOUNT = AccountRef("68a1f0c2d3b4e5f60000acc1", None, None)

KINDS = {
    "account.connected": Kind.CONNECTION,
    "account.disconnected": Kind.CONNECTION,
    "message.deleted": Kind.DELETE,
    "message.delivered": Kind.OUTCOME,
    "message.edited": Kind.EDIT,
    "message.failed": Kind.OUTCOME,
    "message.read": Kind.OUTCOME,
    "message.received.audio-no-text": Kind.NEW_MESSAGE,
    "message.received.ctwa-referral": Kind.NEW_MESSAGE,
    "message.received.image": Kind.NEW_MESSAGE,
    "message.received.opt-out": Kind.NEW_MESSAGE,
    "message.received.phone-only": Kind.NEW_MESSAGE,
    "message.received.text": Kind.NEW_MESSAGE,
    "message.received.username-no-phone": Kind.NEW_MESSAGE,
    "message.sent.cloud-api": Kind.NEW_MESSAGE,
    "message.sent.phone-app": Kind.NEW_MESSAGE,
    "verification.approved": Kind.UNKNOWN,
    "verification.failed": Kind.UNKNOWN,
    "whatsapp.number.action_required": Kind.NUMBER_STATE,
    "whatsapp.number.activated": Kind.NUMBER_STATE,
    "whatsapp.number.kyc_submitted": Kind.NUMBER_STATE,
    "whatsapp.number.reactivated": Kind.NUMBER_STATE,
    "whatsapp.number.suspended": Kind.NUMBER_STATE,
    "whatsapp.number.verification_required": Kind.NUMBER_STATE,
    "whatsapp.template.status_updated.approved": Kind.TEMPLATE_REVIEW,
    "whatsapp.template.status_updated.rejected": Kind.TEMPLATE_REVIEW,
}


def test_every_sample_has_its_kind() -> None:
    assert {name: zernio.kind(payload(name)) for name in NAMES} == KINDS


def test_to_the_social_adapter_every_whatsapp_body_is_another_platforms() -> None:
    for name in NAMES:
        expected = Kind.UNKNOWN if name.startswith("verification.") else Kind.OTHER_PLATFORM
        assert social.kind(payload(name)) is expected


@pytest.mark.parametrize("platform", ["instagram", "facebook", "telegram", "sms", "one of tomorrow"])
def test_every_other_network_is_social(platform: str) -> None:
    body = payload("message.received.text", message__platform=platform, account__platform=platform)
    assert zernio.kind(body) is Kind.OTHER_PLATFORM
    assert social.kind(body) is Kind.NEW_MESSAGE
    connected = payload("account.connected", account__platform=platform)
    assert zernio.kind(connected) is Kind.OTHER_PLATFORM
    assert social.kind(connected) is Kind.CONNECTION


def test_the_message_says_its_platform_before_the_account_does() -> None:
    body = payload("message.received.text", message__platform="instagram")
    assert zernio.kind(body) is Kind.OTHER_PLATFORM
    body = payload("message.received.text", message__platform=MISSING, account__platform="telegram")
    assert zernio.kind(body) is Kind.OTHER_PLATFORM


def test_without_a_platform_the_session_decides() -> None:
    body = payload("message.received.text", message__platform=MISSING, account__platform=None)
    assert zernio.kind(body) is Kind.NEW_MESSAGE
    assert social.kind(body) is Kind.NEW_MESSAGE


def test_tests_are_tests() -> None:
    ping = {
        "id": "1",
        "event": "webhook.test",
        "message": "This is a test",
        "timestamp": "2026-08-20T13:00:00Z",
    }
    for adapter in (zernio, social):
        assert adapter.kind(ping) is Kind.TEST
        assert adapter.kind(payload("message.received.text", test=True)) is Kind.TEST
    assert zernio.external_id(ping) == "1"
    for not_true in (False, None, 1, "true"):
        assert zernio.kind(payload("message.received.text", test=not_true)) is Kind.NEW_MESSAGE


@pytest.mark.parametrize(
    "event",
    [
        "whatsapp.template.category_updated",
        "whatsapp.number.renamed",
        "whatsapp.automatic_event",
        "conversation.started",
        "reaction.received",
        "message.received ",
        "MESSAGE.RECEIVED",
        "",
        None,
        7,
        ["message.received"],
        {"name": "message.received"},
    ],
)
def test_everything_else_is_unknown(event: object) -> None:
    assert zernio.kind(payload("message.received.text", event=event)) is Kind.UNKNOWN


@pytest.mark.parametrize("state", ["declined", "released"])
def test_number_states_without_a_sample(state: str) -> None:
    body = payload("whatsapp.number.activated", event=f"whatsapp.number.{state}")
    assert zernio.kind(body) is Kind.NUMBER_STATE


def test_the_account_under_either_name() -> None:
    assert zernio.account(payload("message.received.text")) == ACCOUNT
    assert zernio.account(payload("message.received.text", account__accountId=MISSING)) == ACCOUNT
    assert zernio.account(payload("account.connected")) == ACCOUNT  # has no account.id
    assert zernio.account({"event": "whatsapp.automatic_event", "accountId": ACCOUNT.account_id}) == ACCOUNT


def test_number_events_name_a_phone_and_a_profile() -> None:
    named = AccountRef(None, "+551130009999", "68a1f0c2d3b4e5f600009f01")
    assert zernio.account(payload("whatsapp.number.suspended")) == named
    written = payload("whatsapp.number.suspended", number__phoneNumber="+55 11 3000-9999")
    assert zernio.account(written) == named


@pytest.mark.parametrize("value", [None, 7, "", "x" * 256, {}, MISSING])
def test_an_unusable_account_is_none(value: object) -> None:
    body = payload("message.received.text", account__id=value, account__accountId=value)
    assert zernio.account(body) == AccountRef(None, None, None)
    assert zernio.account({"account": value, "number": value}) == AccountRef(None, None, None)


def test_what_identifies_a_row() -> None:
    assert zernio.event_type(payload("message.read")) == "message.read"
    assert zernio.event_type({"event": 7}) == ""
    assert zernio.event_type({"event": "a\0"}) == "a\ufffd"
    assert zernio.external_id(payload("message.read")) == "wamid.RVhFTVBMTy1vdXQtMQ=="
    assert zernio.external_id(payload("account.connected")) == "0b7c1e5a-4d2f-4a60-9e1b-000000000070"
    assert zernio.external_id({}) is None


def test_there_is_no_adapter_for_another_name() -> None:
    assert (zernio.name, social.name) == ("zernio", "zernio_social")
    with pytest.raises(KeyError):
        provider_for("lead_form")
