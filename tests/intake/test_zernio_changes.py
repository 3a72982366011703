from datetime import UTC, datetime

import pytest

from portaria.intake.providers import (
    Connection,
    ContractError,
    Delete,
    Edit,
    Fact,
    NumberState,
    Outcome,
    TemplateReview,
    provider_for,
)
from tests.intake.zernio_payloads import MISSING, payload

zernio = provider_for("zernio")
GENERATED = datetime(2026, 8, 20, 13, 0, 1, 250_000, tzinfo=UTC)
OUT = "wamid.RVhFTVBMTy1vdXQtMQ=="
PHONE = "+551130009999"


def at(minute: int, second: int = 0) -> datetime:
    return datetime(2026, 8, 20, 13, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("message.delivered", Outcome(OUT, "delivered", at(2, 3), None)),
        ("message.read", Outcome(OUT, "read", at(4, 10), None)),
        (
            "message.failed",
            Outcome(
                "wamid.RVhFTVBMTy1vdXQtNA==",
                "failed",
                at(6),
                {
                    "code": 131047,
                    "title": "Re-engagement message",
                    "message": "Re-engagement message",
                    "explanation": "The 24-hour window is closed. Send an approved template.",
                },
            ),
        ),
        ("message.edited", Edit("wamid.RVhFTVBMTy1pbi00MA==", "texto corrigido: dia 21", at(11))),
        ("message.deleted", Delete(OUT, at(20))),
        (
            "whatsapp.number.action_required",
            NumberState(PHONE, "action_required", GENERATED, "Enviar comprovante de endereço"),
        ),
        ("whatsapp.number.activated", NumberState(PHONE, "activated", GENERATED, None)),
        ("whatsapp.number.kyc_submitted", NumberState(PHONE, "kyc_submitted", GENERATED, None)),
        ("whatsapp.number.reactivated", NumberState(PHONE, "reactivated", GENERATED, None)),
        ("whatsapp.number.suspended", NumberState(PHONE, "suspended", GENERATED, "payment_failed")),
        (
            "whatsapp.number.verification_required",
            NumberState(PHONE, "verification_required", GENERATED, None),
        ),
        (
            "whatsapp.template.status_updated.approved",
            TemplateReview("990011223344556", "lembrete_consulta", "pt_BR", "APPROVED", None, GENERATED),
        ),
        (
            "whatsapp.template.status_updated.rejected",
            TemplateReview(
                "990011223344556", "lembrete_consulta", "pt_BR", "REJECTED", "INVALID_FORMAT", GENERATED
            ),
        ),
        ("account.connected", Connection(True, GENERATED, None)),
        ("account.disconnected", Connection(False, GENERATED, "Token expired or revoked")),
    ],
)
def test_every_sample_is_read(name: str, expected: Fact) -> None:
    assert zernio.parse(payload(name)) == expected


@pytest.mark.parametrize("status_at", [None, MISSING])
def test_an_outcome_without_its_time_takes_the_events(status_at: object) -> None:
    assert zernio.parse(payload("message.read", statusAt=status_at)) == Outcome(OUT, "read", GENERATED, None)


def test_an_error_belongs_to_a_failure_and_keeps_what_is_readable() -> None:
    read = zernio.parse(payload("message.read", error={"code": 1}))
    assert read == Outcome(OUT, "read", at(4, 10), None)
    error = {"code": "131026", "title": "a\0", "message": None, "explanation": [1], "secret": "x"}
    failed = zernio.parse(payload("message.failed", error=error))
    assert isinstance(failed, Outcome)
    assert failed.error == {"code": "131026", "title": "a\ufffd"}
    for absent in (None, MISSING, "x", {}):
        failed = zernio.parse(payload("message.failed", error=absent))
        assert isinstance(failed, Outcome)
        assert failed.error is None


def test_an_edit_may_leave_no_text() -> None:
    edit = zernio.parse(payload("message.edited", message__text=None))
    assert isinstance(edit, Edit)
    assert edit.body is None


def test_a_number_event_may_name_no_phone() -> None:
    state = zernio.parse(payload("whatsapp.number.suspended", number=None, reason=7))
    assert state == NumberState(None, "suspended", GENERATED, None)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("message.delivered", "message__platformMessageId"),
        ("message.delivered", "statusAt"),
        ("message.edited", "message__platformMessageId"),
        ("message.edited", "editedAt"),
        ("message.edited", "message__text"),
        ("message.deleted", "message__platformMessageId"),
        ("message.deleted", "deletedAt"),
        ("message.deleted", "message"),
        ("whatsapp.number.suspended", "timestamp"),
        ("whatsapp.template.status_updated.approved", "template"),
        ("whatsapp.template.status_updated.approved", "template__templateId"),
        ("whatsapp.template.status_updated.approved", "template__name"),
        ("whatsapp.template.status_updated.approved", "template__status"),
        ("whatsapp.template.status_updated.approved", "timestamp"),
        ("account.connected", "timestamp"),
    ],
)
def test_required_fields_are_named(name: str, field: str) -> None:
    with pytest.raises(ContractError) as refused:
        zernio.parse(payload(name, **{field: 1790000000}))  # case C4, where it is a time
    assert refused.value.fields == (field.replace("__", "."),)


@pytest.mark.parametrize("name", ["verification.approved", "verification.failed"])
def test_what_is_no_fact_to_us_is_refused(name: str) -> None:
    with pytest.raises(ContractError, match="event"):
        zernio.parse(payload(name))
