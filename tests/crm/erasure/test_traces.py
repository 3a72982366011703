"""Whether a delivery speaks of somebody, whatever encoding, framing or way of writing hides it."""

import json
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portaria.crm.erasure.person import Person
from portaria.crm.erasure.traces import speaks_of

THREAD = "68a1f0c2d3b4e5f60000c0a1"
WHO = Person(
    uuid4(), None, ("+5511987650001", "+551187650001"), "Ana@Exemplo.test",
    frozenset({THREAD, "wamid.1", "c7", "BR.40718293645501827364"}),
    frozenset({THREAD, "c7", "BR.40718293645501827364"}), frozenset(),
)  # fmt: skip


def body(value: object) -> bytes:
    return json.dumps({"a": [{"b": value}]}, ensure_ascii=False).encode()


THEIRS = {
    "thread": body(THREAD),
    "short id": body("c7"),
    "message": body("wamid.1"),
    "scoped id in a text": body("id BR.40718293645501827364, sim"),
    "phone": body("+5511987650001"),
    "phone without its plus": body("5511987650001"),
    "phone as a number": b'{"phone": 5511987650001}',
    "phone without its ninth digit": body("551187650001"),
    "phone as people write it": body("me liga no (11) 98765-0001, por favor"),
    "phone with a trunk prefix": body("011 98765-0001"),
    "e-mail in another case": body("escreva a ana@exemplo.TEST"),
    "as a key": json.dumps({THREAD: 1}).encode(),
    "escaped": body("+5511987650001").replace(b"55119", b"\\u0035\\u0035\\u00311\\u0039"),
    "with a byte order mark": b"\xef\xbb\xbf" + body(THREAD),
    "UTF-16": body(THREAD).decode().encode("utf-16"),
    "UTF-32": body(THREAD).decode().encode("utf-32"),
    "not JSON": b"{" + body("+55 11 98765-0001"),
    "broken UTF-8": b"\xff" + body(THREAD),
    "nested too deeply": b"[" * 100_000 + json.dumps(THREAD).encode() + b"]" * 100_000,
    "beside a number too long": b'{"n": ' + b"1" * 5000 + b', "a": ' + json.dumps(THREAD).encode() + b"}",
    "a form": urlencode({"phone": "(11) 98765-0001"}).encode(),
    "a form's e-mail": urlencode({"x": "ana@exemplo.test"}).encode(),
    "multipart": b'--x\r\nContent-Disposition: form-data; name="p"\r\n\r\n11 98765 0001\r\n--x--',
}
OTHERS = {
    "nothing": b"",
    "another's phone": body("+5511987650002"),
    "their phone inside a longer number": body("wamid 15511987650001234567"),
    "their short id inside a word": body("abc7"),
    "their short id in a text": body("veja c7 no mapa"),
    "another thread": body(THREAD[:-1] + "2"),
    "their thread inside a longer one": body(THREAD + "f"),
    "another e-mail": body("mariana@exemplo.test.br.outro".replace("ana@exemplo.test", "ana@outro.test")),
    "a form": urlencode({"phone": "(11) 98765-0002", "c": "c77"}).encode(),
}


@pytest.mark.parametrize("what", THEIRS)
def test_it_speaks_of_them(what: str) -> None:
    assert speaks_of(WHO, THEIRS[what])


@pytest.mark.parametrize("what", OTHERS)
def test_it_speaks_of_somebody_else(what: str) -> None:
    assert not speaks_of(WHO, OTHERS[what])


@given(st.binary(max_size=200), st.sampled_from(["utf-8", "utf-16", "latin-1"]))
def test_any_bytes_can_be_asked(raw: bytes, encoding: str) -> None:
    speaks_of(WHO, raw)
    speaks_of(WHO, json.dumps({"x": raw.decode("latin-1")}).encode(encoding))


@given(st.recursive(st.text(max_size=20), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_wherever_a_json_body_holds_it(value: object) -> None:
    assert speaks_of(WHO, json.dumps([value, {"x": [THREAD]}]).encode())
