import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from portaria.intake.json_body import InvalidJson, parse_object

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_an_object_comes_back_as_it_was(value: dict[str, object]) -> None:
    assert parse_object(json.dumps(value, ensure_ascii=False).encode()) == value
    assert parse_object(json.dumps(value).encode()) == value


@given(st.binary() | st.text(alphabet='{}[]",:0\\u ').map(str.encode))
def test_any_bytes_give_an_object_or_invalid_json(raw: bytes) -> None:
    with suppress(InvalidJson):
        assert isinstance(parse_object(raw), dict)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b'{"a":1}x',
        b"{'a':1}",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":"caf\xe9"}',
        b'{"a":"\xed\xa0\x80"}',  # a surrogate encoded by itself
        b'{"a":"\x00"}',  # only the escape may stand for it
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-16-le"),
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        b"\x1f\x8b\x08",
    ],
)
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidJson):
        parse_object(raw)


def test_the_refusal_shows_no_value() -> None:
    for raw in (b'{"phone":"+5511987650001",}', b'{"phone":+5511987650001}', b'"+5511987650001"'):
        with pytest.raises(InvalidJson) as refused:
            parse_object(raw)
        assert "987650001" not in str(refused.value)


def test_a_bom_is_tolerated() -> None:
    assert parse_object(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


def test_white_space_around_is_no_matter() -> None:
    """Case C1."""
    assert parse_object(b'{"b":1, "a":"\\u00e9"}\r\n') == {"b": 1, "a": "é"}


def test_numbers_no_type_holds_stay_text() -> None:
    digits = "9" * 4_301
    value = parse_object(
        f'{{"long":{digits},"negative":-{digits},"huge":1e999,"id":120200000000000001}}'.encode()
    )
    assert value == {"long": digits, "negative": "-" + digits, "huge": "1e999", "id": 120200000000000001}


_BOM = b"\xef\xbb\xbf"
_WORDS = rb'" \ \u d800 \udc00 1e e5 . - 0 1e400 -0 NaN true tru { } [ ] , : 5e-324'
_PIECES = [
    *_WORDS.split(b" "), b'"a":1', b"\t", b"\x00", b"\x01", b"\xff", b"\xed\xa0\x80",
    b"9" * 19, b"9" * 99, b"9" * 100, b"9" * 101,
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=6).map(b"".join))
@example(b"-" + b"9" * 100)
@example(rb'"\ud800"')
def test_the_quick_reader_and_the_lenient_one_read_alike(piece: bytes) -> None:
    """The quick one refuses a mark at the start, so with it the lenient one reads alone."""
    for raw in (b'{"a":' + piece + b"}", b'{"' + piece + b'":1}', piece):
        read = []
        for text in (raw, _BOM + raw):
            try:
                read.append(repr(parse_object(text)))
            except InvalidJson:
                read.append("refused")
        assert read[0] == read[1], raw


def test_the_last_of_repeated_keys_wins() -> None:
    assert parse_object(b'{"a":1,"a":2}') == {"a": 2}


def test_nul_and_lone_surrogates_survive_parsing() -> None:
    assert parse_object(rb'{"a":"\u0000\ud800","b":"\\u0000"}') == {"a": "\0\ud800", "b": r"\u0000"}


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_has_a_bound_that_no_stack_decides(opening: bytes, closing: bytes) -> None:
    def nested(levels: int) -> bytes:
        return b'{"a":' + opening * (levels - 1) + b"1" + closing * (levels - 1) + b"}"

    assert "a" in parse_object(nested(100))
    for levels in (101, 20_000):
        with pytest.raises(InvalidJson):
            parse_object(nested(levels))
    with pytest.raises(InvalidJson):
        parse_object(opening * 20_000)


def test_many_brackets_side_by_side_or_in_text_are_not_nesting() -> None:
    value = {"list": [[{}] for _ in range(5_000)], "text": '[{"' * 5_000 + "\\"}
    assert parse_object(json.dumps(value).encode()) == value


def test_a_hostile_string_costs_one_pass() -> None:
    """Escaped quotes without an end: quadratic for a pattern that starts again at each of them."""
    with pytest.raises(InvalidJson):
        parse_object(b"[" * 101 + b'"' + rb"\"" * 1_500_000)
