"""What an envelope must be, and that what was accepted can be stored and handed on (spec 3)."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from portaria.accounts.envelope import clean, parse, parse_time
from portaria.errors import Refusal
from tests.accounts.workbench import envelope


def refused(raw: bytes) -> str:
    with pytest.raises(Refusal) as caught:
        parse(raw)
    assert (caught.value.status, caught.value.code) == (422, "invalid_payload")
    return caught.value.detail


@pytest.mark.parametrize("field", ["event_id", "event_type", "occurred_at", "data"])
@pytest.mark.parametrize("value", [None, "", "  \t\n", 7, True, [], ["x"], "absent"])
def test_each_field_missing_null_blank_or_of_another_type_is_refused(field: str, value: Any) -> None:
    body = envelope(**{field: value})
    if value == "absent":
        del body[field]
    assert field in refused(json.dumps(body).encode())


@pytest.mark.parametrize("field", ["event_id", "event_type"])
@pytest.mark.parametrize("value", ["x" * 256, "a\x00b", "\x00", "a\ud800b", "\udfff"])
def test_a_key_that_cannot_be_one_is_refused_by_name_and_never_by_value(field: str, value: str) -> None:
    """E1: an event_id "e\\u0000" too."""
    detail = refused(json.dumps(envelope(**{field: value})).encode())
    assert detail == f"Missing or not valid: {field}."


def test_every_wrong_field_is_named() -> None:
    assert refused(b"{}") == "Missing or not valid: event_id, event_type, occurred_at, data."


def test_keys_of_any_text_up_to_255_characters_are_kept_as_they_are(owner: psycopg.Connection) -> None:
    for value in ("x" * 255, "é" * 255, "😀" * 255, " x ", "a/b?c#d%00", "0"):
        read = parse(json.dumps(envelope(event_id=value, event_type=value)).encode())
        assert (read.event_id, read.event_type) == (value, value)
        stored = owner.execute("SELECT %s::text, length(%s)", [value, value]).fetchone()
        assert stored == (value, len(value))


@pytest.mark.parametrize(
    "raw",
    [
        b"", b" ", b"{", b"nul", b"[]", b'"text"', b"7", b"null", b"true", b"event_id=evt_1", b"{'a': 1}",
        b'{"a": 1}}', b'{"a": 1,}', b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": "\x01"}', b'{"a": "\xe9"}',
        b'{"a": "\x00"}', b'{"a": 1}\x00', "{}".encode("utf-16"), b'{"a": 01}', b'{"a": "\\x"}', b"\xff\xfe",
    ],
)  # fmt: skip
def test_what_is_not_a_json_object_in_utf8_is_refused(raw: bytes) -> None:
    refused(raw)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [101, 1_000, 200_000])
def test_deep_nesting_is_refused_and_not_a_recursion_error(opening: str, depth: int) -> None:
    closing = "]" if opening == "[" else "}"
    nest = f"{opening * depth}1{closing * depth}"
    body = json.dumps(envelope(data={})).replace("{}", f'{{"nest": {nest}}}')
    assert "Nested deeper" in refused(body.encode())


def test_brackets_in_texts_are_no_nesting() -> None:
    text = '[{"\\' * 5_000
    assert parse(json.dumps(envelope(data={"note": text})).encode()).data == {"note": text}


def test_many_siblings_are_no_nesting() -> None:
    data = {"items": [{"n": [n]} for n in range(1_000)]}
    assert parse(json.dumps(envelope(data=data)).encode()).data == data


def test_an_empty_data_object_is_one() -> None:
    assert parse(json.dumps(envelope(data={})).encode()).data == {}


def test_numbers_of_any_size_are_taken_and_exact() -> None:
    numbers = '"big": 9007199254740993, "money": 19.90, "tiny": 1e-400, "huge": 1e400, "long": ' + "9" * 5_000
    data = parse(json.dumps(envelope(data={})).replace("{}", f"{{{numbers}}}").encode()).data
    assert data["big"] == 2**53 + 1
    assert data["money"] == Decimal("19.90")
    assert data["huge"] == Decimal("1e400")
    assert data["long"] == Decimal("9" * 5_000)
    beyond = f'{{"n": 1e{"9" * 30}}}'
    assert parse(json.dumps(envelope(data={})).replace("{}", beyond).encode()).data["n"].startswith("1e999")


def test_of_repeated_keys_the_last_counts_and_the_payload_keeps_both() -> None:
    raw = json.dumps(envelope()).replace('"evt_1"', '"evt_0", "event_id": "evt_1"').encode()
    read = parse(raw)
    assert read.event_id == "evt_1"
    assert read.payload.encode() == raw


def test_a_leading_byte_order_mark_loses_no_event() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(envelope()).encode()
    assert parse(raw).payload.encode() == raw


TIMES = {
    "2026-10-27": datetime(2026, 10, 27, tzinfo=UTC),
    "2026-10-27T10:00": datetime(2026, 10, 27, 10, tzinfo=UTC),
    "2026-10-27 10:00:05": datetime(2026, 10, 27, 10, 0, 5, tzinfo=UTC),
    "2026-10-27T10:00:05Z": datetime(2026, 10, 27, 10, 0, 5, tzinfo=UTC),
    "2026-10-27t10:00:05z": datetime(2026, 10, 27, 10, 0, 5, tzinfo=UTC),
    "2026-10-27 10:00:05 UTC": datetime(2026, 10, 27, 10, 0, 5, tzinfo=UTC),
    "2026-10-27 10:00:05 -0300": datetime(2026, 10, 27, 13, 0, 5, tzinfo=UTC),
    "2026-10-27T10:00:05.123456789-03:00": datetime(2026, 10, 27, 13, 0, 5, 123456, tzinfo=UTC),
    "2026-10-27T10:00:05,5+05:30": datetime(2026, 10, 27, 4, 30, 5, 500000, tzinfo=UTC),
    "2016-12-31T23:59:59+15:59": datetime(2016, 12, 31, 8, 0, 59, tzinfo=UTC),
    "2016-12-31T23:59:59-15:59": datetime(2017, 1, 1, 15, 58, 59, tzinfo=UTC),
    "2024-02-29": datetime(2024, 2, 29, tzinfo=UTC),
    "0001-01-01": datetime(1, 1, 1, tzinfo=UTC),
    "9999-12-31T23:59:59.999999-00:00": datetime.max.replace(tzinfo=UTC),
}


def test_a_date_or_date_time_is_held_by_python_and_postgresql_alike(owner: psycopg.Connection) -> None:
    """E5."""
    for zone in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12"):
        owner.execute("SELECT set_config('timezone', %s, false)", [zone])
        for text, utc in TIMES.items():
            moment = parse_time(text)
            assert moment == utc, text
            stored = owner.execute("SELECT %s::timestamptz AT TIME ZONE 'UTC'", [moment]).fetchone()
            assert stored == (utc.replace(tzinfo=None),), text


@pytest.mark.parametrize(
    "text",
    [
        "2016-12-31T23:59:60Z", "2016-12-31T23:59:59-16:00", "2016-12-31T24:00:00Z", "2023-02-29",
        "2026-13-01", "2026-00-10", "0000-01-01", "0001-01-01T00:00:00+15:00", "9999-12-31T23:59:59-15:00",
        "10000-01-01", "-0001-01-01", "today", "now", "infinity", "epoch", "1790000000", "1790000000000",
        "20261027", "2026-W44-2", "2026-300", "27/10/2026", "2026-10-27T10",
        "2026-10-27T10:00:00 America/Sao_Paulo",
        " 2026-10-27", "2026-10-27\n", "2026-10-27T10:00:00+24:00", "٢٠٢٦-10-27", "2026-10-27T10:60:00Z",
    ],
)  # fmt: skip
def test_what_either_could_not_hold_is_no_date(text: str) -> None:
    """E5: the same verdict from the check as from storage, which only ever sees what passed."""
    assert "occurred_at" in refused(json.dumps(envelope(occurred_at=text)).encode())


def test_what_postgresql_cannot_hold_is_replaced_before_it_is_handed_on() -> None:
    dirty = {"na\x00me": ["a\x00b", {"x": "\ud800"}], "fine": "\\u0000", "n": 1, "none": None}
    assert clean(dirty) == {
        "na\ufffdme": ["a\ufffdb", {"x": "\ufffd"}],
        "fine": "\\u0000",
        "n": 1,
        "none": None,
    }
