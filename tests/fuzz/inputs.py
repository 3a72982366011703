"""What nobody should send: JSON that is hardly any, bytes that are none, samples bent out of shape."""

import copy
import json
from datetime import UTC, datetime
from typing import Any, Final

from hypothesis import strategies as st

from portaria.intake.providers import samples
from tests.intake.zernio_payloads import NAMES, payload

# A character that breaks something somewhere: NUL, lone surrogates, direction marks, line ends, astral.
_NASTY: Final = "\x00\ud800\udfff\u202e\u2028\ufeff\uffff\U0001f600é\x1b\x7f'\"\\<>&%{}|;\r\n\t"
TEXTS: Final = st.one_of(
    st.text(max_size=40),
    st.text(st.sampled_from(_NASTY), max_size=20),
    st.text(st.characters(categories=["Cs", "Cc", "Co", "Lo", "So"]), max_size=20),
    st.sampled_from(
        ["", " ", "0", "null", "true", "-0", "NaN", "1e400", "a" * 255, "a" * 256, "é" * 5000, "../../etc"]
    ),
)
TIMES: Final = st.sampled_from(
    [
        "0000-00-00T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00",
        "+12026-01-01T00:00:00Z", "2016-12-31T23:59:60Z", "2026-02-30T00:00:00Z", "2026-10-27T10:00:00",
        "1790000000", "1790000000000", "2026-10-27T10:00:00.123456789123Z", "2026-W10-1", "4714-01-01 BC",
        "infinity", "now", "2026-10-27T24:00:00Z",
    ]
)  # fmt: skip
NUMBERS: Final = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**40, 1e308, -0.0, 1790000000]),
)
SCALARS: Final = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, TIMES)
VALUES: Final = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)

EXTREME: Final[dict[str, bytes]] = {
    "nothing": b"",
    "20,000 arrays deep": b"[" * 20_000 + b"]" * 20_000,
    "20,000 objects deep": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "20,000 deep inside": b'{"event": "message.received", "message": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "unclosed": b'{"a":' * 20_000,
    "a number of 4,301 digits": b'{"event": "message.received", "n": ' + b"9" * 4301 + b"}",
    "an exponent beyond floats": b'{"event": "message.received", "n": 1e999999}',
    "NaN": b'{"event": "message.received", "n": NaN, "m": -Infinity}',
    "the same key twice": b'{"event": "message.received", "event": "message.failed", "message": {}}',
    "a byte order mark": b"\xef\xbb\xbf" + b'{"event": "webhook.test"}',
    "UTF-16": '{"event": "webhook.test"}'.encode("utf-16"),
    "UTF-32": '{"event": "webhook.test"}'.encode("utf-32"),
    "latin-1": '{"event": "message.received", "x": "é"}'.encode("latin-1"),
    "overlong UTF-8": b'{"event": "\xc0\xaf"}',
    "encoded surrogates": b'{"event": "\xed\xa0\x80"}',
    "escaped lone surrogate": b'{"event": "message.received", "message": {"text": "\\ud800"}}',
    "escaped NUL": b'{"event": "message.\\u0000received"}',
    "control characters": b'{"event": "a\x01b"}',
    "a trailing comma": b'{"event": "webhook.test",}',
    "two values": b'{"event": "webhook.test"}{"event": "webhook.test"}',
    "a comment": b'{"event": "webhook.test"} // hello',
    "only a string": b'"message.received"',
    "50,000 keys": json.dumps({f"k{n}": n for n in range(50_000)}).encode(),
    "a string of a megabyte": json.dumps({"event": "message.received", "x": "a" * 1_000_000}).encode(),
}
TOO_LARGE: Final[dict[str, bytes]] = {
    "a string of 10 MB": b'{"event": "' + b"a" * 10_000_000 + b'"}',
    "10 MB of brackets": b"[" * 10_000_000,
}


@st.composite
def json_bytes(draw: st.DrawFn, values: st.SearchStrategy[Any] = VALUES) -> bytes:
    """A value as bytes, in some encoding, well or badly."""
    text = json.dumps(draw(values), ensure_ascii=draw(st.booleans()))
    encoding = draw(st.sampled_from(["utf-8"] * 8 + ["utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252"]))
    raw = text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")
    if draw(st.integers(0, 9)) == 0:
        cut = draw(st.integers(0, len(raw)))
        raw = raw[:cut] + draw(st.binary(max_size=4)) + raw[cut + draw(st.integers(0, 2)) :]
    return raw


@st.composite
def bent_samples(draw: st.DrawFn, account_id: str) -> Any:
    """One of the provider's samples, ours to answer for, with something wrong at a place or three."""
    body = copy.deepcopy(payload(draw(st.sampled_from(NAMES))))
    if draw(st.booleans()):
        body = samples.message_received(
            account_id,
            draw(st.sampled_from(["w1", "w2", "w3"]) | TEXTS),
            "+5511987650001",
            draw(TEXTS),
            datetime.now(UTC),
        )
    if isinstance(body.get("account"), dict):
        body["account"] |= {"id": account_id, "accountId": account_id}
    for _ in range(draw(st.integers(0, 3))):
        bend(draw, body)
    return body


def bend(draw: st.DrawFn, body: Any) -> None:
    """Something else at some place of `body`, or nothing, or one key too many."""
    at: Any = body
    while isinstance(at, dict) and at:
        key = draw(st.sampled_from(sorted(at, key=str)))
        inner = at[key]
        if isinstance(inner, dict) and inner and draw(st.integers(0, 3)):
            at = inner
            continue
        what = draw(st.sampled_from(["replace", "remove", "add"]))
        if what == "remove":
            del at[key]
        else:
            at[key if what == "replace" else draw(TEXTS)] = draw(VALUES)
        return
