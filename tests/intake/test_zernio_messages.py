from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from portaria.intake.providers import ContractError, NewMessage, provider_for
from tests.intake.zernio_payloads import MISSING, payload

zernio, social = provider_for("zernio"), provider_for("zernio_social")

TEXT = NewMessage(
    direction="inbound",
    external_id="wamid.RVhFTVBMTy1pbi0x",
    provider_conversation_id="68a1f0c2d3b4e5f60000c0a1",
    platform="whatsapp",
    type="text",
    body="Olá, vocês têm horário amanhã à tarde?",
    attachments=[],
    sent_at=datetime(2026, 8, 20, 13, tzinfo=UTC),
    business_scoped_id="BR.40718293645501827364",
    parent_business_scoped_id=None,
    phone="+5511987650001",
    channel_user=None,
    name="Cliente Exemplo",
    username=None,
    referral=None,
    unsupported=False,
)
SENT = replace(
    TEXT,
    direction="outbound",
    external_id="wamid.RVhFTVBMTy1vdXQtMQ==",
    body="Temos sim! Às 15h serve?",
    sent_at=datetime(2026, 8, 20, 13, 2, tzinfo=UTC),
    business_scoped_id=None,
)
MEDIA = "https://zernio.com/api/v1/whatsapp/media"


def message(name: str = "message.received.text", **changes: object) -> NewMessage:
    fact = zernio.parse(payload(name, **changes))
    assert isinstance(fact, NewMessage)
    return fact


def fields_refused(name: str = "message.received.text", **changes: object) -> tuple[str, ...]:
    with pytest.raises(ContractError) as refused:
        zernio.parse(payload(name, **changes))
    return refused.value.fields


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("message.received.text", TEXT),
        (
            "message.received.phone-only",
            replace(TEXT, external_id="wamid.RVhFTVBMTy1pbi0y", body="Bom dia", business_scoped_id=None),
        ),
        (
            "message.received.username-no-phone",
            replace(
                TEXT,
                external_id="wamid.RVhFTVBMTy1pbi0z",
                provider_conversation_id="68a1f0c2d3b4e5f60000c0a2",
                body="oi, vi o anúncio",
                business_scoped_id="BR.77120938475566019283",
                phone=None,
                name="Pessoa Sem Numero",
                username="@pessoa.exemplo",
            ),
        ),
        (
            "message.received.image",
            replace(
                TEXT,
                external_id="wamid.RVhFTVBMTy1pbi02",
                type="image",
                body="foto do produto",
                attachments=[
                    {
                        "type": "image",
                        "media_id": "1029384756019283",
                        "mime_type": "image/jpeg",
                        "url": f"{MEDIA}/1029384756019283?accountId=68a1f0c2d3b4e5f60000acc1",
                    }
                ],
            ),
        ),
        (
            "message.received.audio-no-text",
            replace(
                TEXT,
                external_id="wamid.RVhFTVBMTy1pbi03",
                type="audio",
                body=None,
                attachments=[
                    {
                        "type": "audio",
                        "media_id": "5647382910564738",
                        "mime_type": "audio/ogg; codecs=opus",
                        "url": f"{MEDIA}/5647382910564738?accountId=68a1f0c2d3b4e5f60000acc1",
                    }
                ],
            ),
        ),
        (
            "message.received.ctwa-referral",
            replace(
                TEXT,
                external_id="wamid.RVhFTVBMTy1pbi05",
                body="Quero saber mais",
                referral={
                    "ctwa_clid": "EXEMPLO_CLID_0001",
                    "source_id": "120200000000000001",
                    "source_type": "ad",
                    "source_url": "https://fb.example/anuncio/1",
                    "headline": "Promoção de exemplo",
                    "body": "Fale com a gente",
                    "media_type": "image",
                },
            ),
        ),
        (
            "message.received.opt-out",
            replace(
                TEXT, external_id="wamid.RVhFTVBMTy1pbi0xMg==", body="não quero mais receber nada de vocês"
            ),
        ),
        ("message.sent.cloud-api", SENT),
        (
            "message.sent.phone-app",
            replace(
                SENT,
                external_id="wamid.RVhFTVBMTy1vdXQtMg==",
                body="respondi pelo celular da loja",
                sent_at=datetime(2026, 8, 20, 13, 5, tzinfo=UTC),
            ),
        ),
    ],
)
def test_every_sample_message_is_read(name: str, expected: NewMessage) -> None:
    assert message(name) == expected


def test_an_inbound_id_of_either_shape_fills_in_for_a_missing_anchor() -> None:
    bare: dict[str, Any] = {
        "message__sender__phoneNumber": None,
        "message__sender__businessScopedUserId": MISSING,
    }
    by_phone = message(**bare)
    assert (by_phone.phone, by_phone.business_scoped_id) == ("+5511987650001", None)
    by_id = message(**bare, message__sender__id="BR.ENT.Ab12")
    assert (by_id.phone, by_id.business_scoped_id) == (None, "BR.ENT.Ab12")


@pytest.mark.parametrize("person_id", ["BR.40718293645501827364", "BR.4071829", "BR.ENT.4071829364"])
def test_an_outbound_business_scoped_id_never_becomes_a_phone(person_id: str) -> None:
    sent = message("message.sent.phone-app", conversation__participantId=person_id)
    assert (sent.phone, sent.business_scoped_id) == (None, person_id)


@pytest.mark.parametrize(
    "person_id", [None, MISSING, 5511987650001, "", "@pessoa", "lid:12345678901", "br.1234567890"]
)
def test_no_anchor_is_not_an_error(person_id: object) -> None:
    sent = message("message.sent.phone-app", conversation__participantId=person_id)
    assert (sent.phone, sent.business_scoped_id) == (None, None)
    assert sent.provider_conversation_id == "68a1f0c2d3b4e5f60000c0a1"


def test_outbound_never_takes_the_business_for_the_person() -> None:
    sent = message("message.sent.phone-app", conversation__participantName=None)
    assert sent.phone == "+5511987650001"
    assert sent.name is None


def test_a_username_or_somebody_elses_card_is_no_anchor() -> None:
    card = {"contactsOrigin": "other", "contacts": [{"phones": [{"wa_id": "5511912340000"}]}]}
    received = message(message__sender={"whatsappUsername": "@5511912340000"}, metadata=card)
    assert (received.phone, received.business_scoped_id) == (None, None)
    assert (received.type, received.username) == ("contacts", "@5511912340000")


@pytest.mark.parametrize(
    "sender", [None, MISSING, "5511987650001", [], {}, {"id": 7, "name": 7, "phoneNumber": 7}]
)
def test_optional_fields_of_another_type_are_absent(sender: object) -> None:
    received = message(message__sender=sender, metadata="x", account=MISSING)
    assert (received.phone, received.name, received.referral) == (None, None, None)


def test_social_people_are_known_by_their_networks_id_alone() -> None:
    body = payload("message.received.text", message__platform="telegram")
    received = social.parse(body)
    assert isinstance(received, NewMessage)
    assert received.channel_user == "5511987650001"
    assert (received.phone, received.business_scoped_id, received.platform) == (None, None, "telegram")
    sent = social.parse(payload("message.sent.phone-app", message__platform="sms"))
    assert isinstance(sent, NewMessage)
    assert (sent.channel_user, sent.phone, sent.name) == ("5511987650001", None, "Cliente Exemplo")


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"metadata": {"interactiveType": "button_reply", "interactiveId": "sim"}}, "interactive"),
        ({"metadata": {"buttonPayload": "sim"}}, "interactive"),
        ({"metadata": {"order": {"items": []}}}, "order"),
        ({"metadata": {"contacts": [{}], "contactsOrigin": "contact_request"}}, "contacts"),
        ({"metadata": {"quotedMessageId": "wamid.X"}}, "text"),
        ({"metadata": {"contacts": [], "order": None}}, "text"),
        ({"message__attachments": [{"type": "Document"}, {"type": "image"}]}, "document"),
        ({"message__attachments": [{"type": "\0" * 60}]}, "\ufffd" * 50),
        ({"message__attachments": [{"url": "https://a.example/x"}]}, "file"),
        ({"message__attachments": ["x", None, {"type": "video", "payload": "x"}]}, "video"),
    ],
)
def test_types(changes: dict[str, Any], kind: str) -> None:
    assert message(**changes).type == kind


def test_an_unsupported_message_is_a_message() -> None:
    """Cases A14, A15."""
    unsupported = {"unsupported": {"code": 131060, "title": "This message is unavailable"}}
    received = message(message__text="[Unsupported message]", metadata=unsupported)
    assert (received.type, received.unsupported) == ("unsupported", True)
    assert received.body == "[Unsupported message]"
    assert received.phone == "+5511987650001"
    assert message(message__text=None, metadata=unsupported).body is None
    assert not message(metadata={"unsupported": None}).unsupported


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://user:pass@a.example/x?token=t&accountId=7&sig=s#frag", "https://a.example/x?accountId=7"),
        ("https://a.example:8443/x%20y", "https://a.example:8443/x%20y"),
        ("https://api.telegram.org/file/bot123:AAE_x/photos/1.jpg", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("//a.example/x", None),
        ("https://[::1", None),
        ("https://a.example/" + "x" * 2_048, None),
        ("", None),
        (7, None),
    ],
)
def test_attachment_links_carry_no_credentials(url: object, kept: str | None) -> None:
    received = message(message__attachments=[{"type": "image", "url": url}])
    assert received.attachments[0].get("url") == kept


@pytest.mark.parametrize("field", ["message__platformMessageId", "conversation__id", "message__sentAt"])
@pytest.mark.parametrize("value", [7, True, [], {}, "", " ", "x" * 256])
def test_required_fields_are_named_when_they_are_wrong(field: str, value: Any) -> None:
    assert fields_refused(**{field: value}) == (field.replace("__", "."),)


@pytest.mark.parametrize("value", [None, MISSING])
@pytest.mark.parametrize("field", ["message__platformMessageId", "message__sentAt"])
def test_required_fields_are_named_when_they_are_absent(field: str, value: Any) -> None:
    assert fields_refused(**{field: value}) == (field.replace("__", "."),)


def test_every_wrong_field_is_named_and_none_of_its_values() -> None:
    body = payload(
        "message.received.text",
        message__platformMessageId=5511987650001,
        message__sentAt="5511987650001",
        message__text=5511987650001,
        message__attachments="5511987650001",
    )
    with pytest.raises(ContractError) as refused:
        zernio.parse(body)
    assert refused.value.fields == (
        "message.platformMessageId",
        "message.sentAt",
        "message.text",
        "message.attachments",
    )
    assert "5511987650001" not in str(refused.value)


@pytest.mark.parametrize("block", ["message", "conversation"])
def test_a_block_of_another_type(block: str) -> None:
    assert fields_refused(**{block: "This is a string"}) == (block,)
    assert fields_refused(message=None) == ("message",)


def test_the_threads_second_place_is_read_where_the_first_is_absent() -> None:
    for absent in ({"conversation__id": None}, {"conversation__id": MISSING}, {"conversation": None}):
        received = message(message__conversationId="second", **absent)
        assert received.provider_conversation_id == "second"
    assert fields_refused(conversation=None, message__conversationId=None) == ("conversation.id",)


def test_a_direction_against_the_event_is_refused() -> None:
    """Read either way, the business would become a contact, or the person be lost."""
    assert fields_refused(message__direction="outgoing") == ("message.direction",)
    assert fields_refused("message.sent.phone-app", message__direction="incoming") == ("message.direction",)
    assert message(message__direction=MISSING) == TEXT


def test_keys_and_texts_are_cleaned_and_cut() -> None:
    """Case E1: a key is cleaned before anybody compares it."""
    received = message(
        message__platformMessageId="a\0b",
        conversation__id="\ud800",
        message__text="oi\0tchau" + "x" * 70_000,
        message__sender__name="\0" + "x" * 300,
        message__sender__businessScopedUserId="BR.1\0",
        metadata={"referral": {"headline\0": "\udfff"}},
    )
    assert received.external_id == "a\ufffdb"
    assert received.provider_conversation_id == "\ufffd"
    assert received.body is not None
    assert received.body.startswith("oi\ufffdtchauxxx")
    assert len(received.body) == 65_536
    assert received.name == "\ufffd" + "x" * 254
    assert received.business_scoped_id == "BR.1\ufffd"
    assert received.referral == {"headline\ufffd": "\ufffd"}
    assert message(message__platformMessageId="x" * 255).external_id == "x" * 255
