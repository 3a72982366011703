"""The three doors against anything: no fault of ours, no dead process, no row that cannot be closed."""

from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portaria.intake.providers import samples
from tests.fuzz.inputs import EXTREME, SCALARS, TEXTS, TIMES, TOO_LARGE, VALUES, bent_samples, json_bytes
from tests.fuzz.target import ACCOUNTS_TOKEN, EVENTS, FUZZ, Target, share

BEARER = {"Authorization": f"Bearer {ACCOUNTS_TOKEN}", "Content-Type": "application/json"}
DOOR = st.integers(0, 2)
FORM_TYPES = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]


def in_a_header(raw: bytes) -> bytes:
    """Without what no header can hold: that is the server's own 400 (`test_wire`)."""
    return raw.translate(None, bytes(range(32)) + b"\x7f").strip()


def form(target: Target) -> str:
    return f"/api/v1/lead-forms/{target.form}"


def test_a_provider_that_sends_anything(target: Target) -> None:
    @settings(max_examples=share(0.15))
    @given(DOOR, st.binary(max_size=200) | json_bytes())
    def send(door: int, raw: bytes) -> None:
        assert target.deliver(target.doors[door], raw).status_code in (200, 400)

    send()


def test_a_provider_whose_events_are_bent(target: Target) -> None:
    accounts = [target.channel.account_id, target.social.account_id, target.channel.account_id]

    @settings(max_examples=share(0.35))
    @given(DOOR.flatmap(lambda door: st.tuples(st.just(door), bent_samples(accounts[door]))))
    def send(sent: tuple[int, Any]) -> None:
        door, body = sent
        answer = target.deliver(target.doors[door], samples.encode(body))
        assert answer.status_code in (200, 400)
        if answer.status_code == 200:
            assert answer.json()["status"] in ("accepted", "processed", "ignored", "error"), answer.text

    send()


def test_an_unsigned_provider(target: Target) -> None:
    odd = st.sampled_from(["", "x", "0" * 64, "é" * 32, "\x80" * 64, "sha256=" + "0" * 64, " " * 5]) | TEXTS

    @settings(max_examples=share(0.05))
    @given(DOOR, json_bytes(), odd)
    def send(door: int, raw: bytes, signature: str) -> None:
        value = in_a_header(signature.encode("utf-8", "replace"))
        answer = target.send("POST", target.doors[door], raw, {"X-Zernio-Signature": value})
        assert answer.status_code == 401

    send()


ENVELOPES = st.fixed_dictionaries(
    {
        "event_id": st.text(min_size=1, max_size=20) | SCALARS, "event_type": st.just("X") | SCALARS,
        "occurred_at": TIMES | SCALARS,
        "data": st.just({}) | st.dictionaries(TEXTS, VALUES, max_size=3) | SCALARS,
    },
    optional={"more": VALUES},
)  # fmt: skip


def test_an_accounts_service_that_sends_anything(target: Target) -> None:
    @settings(max_examples=share(0.15))
    @given(st.binary(max_size=200) | json_bytes() | json_bytes(ENVELOPES))
    def send(raw: bytes) -> None:
        assert target.send("POST", EVENTS, raw, BEARER).status_code in (200, 202, 422)

    send()


def test_a_bearer_of_anything(target: Target) -> None:
    @settings(max_examples=share(0.03))
    @given(st.binary(max_size=60))
    def send(raw: bytes) -> None:
        value = in_a_header(raw)
        assert target.send("POST", EVENTS, b"{}", {"Authorization": value}).status_code == 401

    send()


FIELDS = st.dictionaries(
    st.sampled_from(["name", "phone", "email", "idempotency_key", "website", "x"]) | TEXTS,
    TEXTS | st.sampled_from(["Lia", "(11) 98765-0001", "lia@exemplo.test", "+1 555 0100"]),
    max_size=6,
)


def test_a_form_filled_in_with_anything(target: Target) -> None:
    @settings(max_examples=share(0.12))
    @given(
        st.sampled_from(FORM_TYPES) | TEXTS, FIELDS, st.binary(max_size=100) | json_bytes(), st.integers(0, 4)
    )
    def send(label: str, fields: dict[str, str], raw: bytes, kind: int) -> None:
        if kind == 0:
            pairs = {
                k.encode("utf-8", "surrogatepass"): v.encode("utf-8", "surrogatepass")
                for k, v in fields.items()
            }
            raw = urlencode(pairs).encode()
        elif kind == 1:
            raw = (
                b"".join(
                    b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
                    % (k.encode("utf-8", "surrogatepass"), v.encode("utf-8", "surrogatepass"))
                    for k, v in fields.items()
                )
                + b"--x--"
            )
        elif kind == 2:
            raw = samples.encode(fields)
            label = FORM_TYPES[0]
        value = in_a_header(label.encode("utf-8", "replace"))
        answer = target.send("POST", form(target), raw, {"Content-Type": value})
        assert answer.status_code in (200, 201, 303, 415, 422)

    send()


@pytest.mark.parametrize("what", EXTREME)
def test_extremes_at_every_door(target: Target, what: str) -> None:
    raw = EXTREME[what]
    for door in target.doors:
        assert target.deliver(door, raw).status_code in (200, 400)
    assert target.send("POST", EVENTS, raw, BEARER).status_code in (202, 422)
    for label in FORM_TYPES:
        assert target.send("POST", form(target), raw, {"Content-Type": label}).status_code == 422


@pytest.mark.parametrize("what", TOO_LARGE)
def test_over_the_limit_is_413_at_every_door(target: Target, what: str) -> None:
    raw = TOO_LARGE[what]
    for door in target.doors:
        assert target.deliver(door, raw).status_code == 413
    assert target.send("POST", EVENTS, raw, BEARER).status_code == 413
    assert target.send("POST", form(target), raw, {"Content-Type": FORM_TYPES[0]}).status_code == 413


def test_headers_of_anything(target: Target) -> None:
    names = st.text("abcdefghijklmnopqrstuvwxyz-0123456789!#$%&'*+.^_`|~", min_size=1, max_size=20)
    kept_apart = {
        "content-length",
        "transfer-encoding",
        "connection",
        "host",
        "expect",
        "upgrade",
        "content-encoding",
    }
    values = st.binary(max_size=40).map(in_a_header)

    @settings(max_examples=share(0.05))
    @given(DOOR, st.dictionaries(names.filter(lambda n: n not in kept_apart), values, max_size=6))
    def send(door: int, headers: dict[str, bytes]) -> None:
        raw = b'{"event": "webhook.test"}'
        secret = samples.sign(raw, "nobody's-secret-0123456789")
        assert target.send("POST", target.doors[door], raw, {**headers, **secret}).status_code == 401

    send()


def test_so_many_inputs_were_made(target: Target) -> None:
    """The shares above and those of the API's document."""
    assert target.inputs >= FUZZ * 0.85
