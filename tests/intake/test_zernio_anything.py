"""Whatever a signed body holds, only ContractError comes out, and what is read can be stored."""

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from portaria.intake.json_body import InvalidJson, parse_object
from portaria.intake.providers import AccountRef, ContractError, Kind, NewMessage, Outcome, provider_for
from tests.intake.zernio_payloads import NAMES, Body, payload

adapters = st.sampled_from([provider_for("zernio"), provider_for("zernio_social")])
texts = (
    st.text(alphabet=st.characters(), max_size=12)
    | st.just("x" * 300)
    | st.just("BR.1")
    | st.just("5511987650001")
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def paths(body: Body, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, value in body.items():
        found.append((*prefix, name))
        found += paths(value, (*prefix, name)) if isinstance(value, dict) else []
    return found


@st.composite
def bent_samples(draw: st.DrawFn) -> Body:
    """A sample body with something else in up to three of its places."""
    body = payload(draw(st.sampled_from(NAMES)))
    if draw(st.booleans()):
        body["metadata"] = draw(anything)
    for path in draw(st.lists(st.sampled_from(paths(body)), max_size=3)):
        parent: Any = body
        for name in path[:-1]:
            parent = parent.get(name) if isinstance(parent, dict) else None
        if isinstance(parent, dict):
            parent[path[-1]] = draw(anything)
    return body


def check_storable(value: object) -> None:
    """No NUL, valid UTF-8, times in UTC, keys that fit: what PostgreSQL can take as it is."""
    if isinstance(value, datetime):
        assert value.tzinfo is UTC
        return
    stored = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    assert b"\\u0000" not in stored.replace(b"\\\\", b"")


@given(adapters, bent_samples() | st.dictionaries(texts, anything, max_size=4))
def test_only_contract_errors_come_out(adapter: Any, body: Body) -> None:
    kind = adapter.kind(body)
    assert isinstance(kind, Kind)
    account = adapter.account(body)
    assert isinstance(account, AccountRef)
    for value in (*dataclasses.astuple(account), adapter.external_id(body), adapter.event_type(body)):
        check_storable(value)
        assert value is None or len(value) <= 255
    try:
        fact = adapter.parse(body)
    except ContractError:
        return
    for value in dataclasses.astuple(fact):
        check_storable(value)
    if isinstance(fact, NewMessage):
        assert 1 <= len(fact.external_id) <= 255
        assert 1 <= len(fact.provider_conversation_id) <= 255
    if isinstance(fact, Outcome):
        assert kind is Kind.OUTCOME


@given(adapters, st.binary())
def test_bytes_from_anywhere_to_a_kind(adapter: Any, raw: bytes) -> None:
    try:
        body = parse_object(raw)
    except InvalidJson:
        return
    assert isinstance(adapter.kind(body), Kind)
