from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portaria.intake.text import clean, clean_cut, clean_json, parse_time


def test_nul_and_lone_surrogates_become_the_replacement_character() -> None:
    """Case E1; the six characters of an escape are text like any other."""
    assert clean("oi\0tchau") == "oi\ufffdtchau"
    assert clean("\ud800a\udfff") == "\ufffda\ufffd"
    assert clean("\\u0000 😀 é") == "\\u0000 😀 é"


@given(st.text(alphabet=st.characters()))
def test_cleaned_text_is_storable_and_as_long_as_before(value: str) -> None:
    cleaned = clean(value)
    assert "\0" not in cleaned.encode().decode()
    assert len(cleaned) == len(value)
    assert clean(cleaned) == cleaned
    assert clean_cut(value, 3) == cleaned[:3]


def test_json_is_cleaned_in_keys_and_values_and_bounded_in_depth() -> None:
    assert clean_json({"a\0": ["\ud800", 1, True, None, {"b": 0.5}]}) == {
        "a\ufffd": ["\ufffd", 1, True, None, {"b": 0.5}]
    }
    assert clean_json({"a": {"b": {"c": 1}}}, depth=2) == {"a": {"b": None}}
    assert clean_json(["abcdef"], limit=3) == ["abc"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-08-20T13:00:00.000Z", datetime(2026, 8, 20, 13, tzinfo=UTC)),
        ("2026-08-20t13:00:00z", datetime(2026, 8, 20, 13, tzinfo=UTC)),
        ("2026-08-20 10:00:00-03:00", datetime(2026, 8, 20, 13, tzinfo=UTC)),
        ("2026-08-20T10:00-03", datetime(2026, 8, 20, 13, tzinfo=UTC)),
        ("2026-08-20T13:00:00.123456789+00:00", datetime(2026, 8, 20, 13, 0, 0, 123456, tzinfo=UTC)),
        ("2026-08-20T00:00:00+15:59", datetime(2026, 8, 19, 8, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_with_its_zone_is_read_as_utc(written: str, meant: datetime) -> None:
    moment = parse_time(written)
    assert moment == meant
    assert moment.tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1790000000,
        1790000000.5,
        "1790000000",  # case C4: nothing tells seconds
        "1790000000000",  # from milliseconds
        "",
        "ontem",
        "2026-08-20",
        "2026-08-20T13:00:00",
        "2016-12-31T23:59:60Z",  # case E5
        "2026-08-20T24:00:00Z",
        "2026-08-20T13:00:00-16:00",
        "2026-08-20T13:00:00+05:60",
        "2026-02-29T13:00:00Z",
        "2026-08-20T13:00:00Z ",
        "2026-08-20T13:00:00Z\0",
        "２０２６-08-20T13:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "+12026-08-20T13:00:00Z",
    ],
)
def test_what_is_no_moment_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"moment|date-time"):
        parse_time(value)


@given(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)), st.integers(-15 * 60 - 59, 15 * 60 + 59))
def test_every_moment_it_takes_any_zone_can_hold(naive: datetime, minutes: int) -> None:
    written = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    moment = parse_time(written.isoformat())
    assert moment == written
    for hours in (-15, 15):
        assert moment.astimezone(timezone(timedelta(hours=hours))) == moment


@given(st.text() | st.integers() | st.none())
def test_nothing_but_value_error_comes_out(value: object) -> None:
    with suppress(ValueError):
        assert parse_time(value).tzinfo is UTC
