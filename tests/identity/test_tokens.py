"""Tokens: ours, unexpired, signed with the one algorithm; and one way to write the header."""

import base64
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import jwt
import pytest

from portaria.errors import Refusal
from portaria.identity.secret_box import SecretBox
from portaria.identity.sign_in import SignedIn
from portaria.identity.tokens import Tokens, bearer_token

BOX = SecretBox("chave-de-teste-" * 3)
TOKENS = Tokens(BOX, lifetime=60)
KEY = BOX.derive("api tokens")
WHO = SignedIn(uuid4(), 3)


def forged(key: bytes | str | None = KEY, algorithm: str | None = "HS256", **changed: object) -> str:
    now = datetime.now(UTC)
    claims = {"iss": "portaria", "sub": str(WHO.user_id), "epoch": 3, "iat": now, "exp": now + timedelta(60)}
    claims |= changed
    return jwt.encode({k: v for k, v in claims.items() if v is not None}, key, algorithm=algorithm)


def unsigned_in_other_words(algorithm: str) -> str:
    """`alg` spelled so that a careless comparison takes it for none."""
    _, body, _ = forged().split(".")
    head = (
        base64.urlsafe_b64encode(json.dumps({"alg": algorithm, "typ": "JWT"}).encode()).rstrip(b"=").decode()
    )
    return f"{head}.{body}.AA"


def test_a_token_comes_back_as_the_sign_in_it_was_issued_for() -> None:
    assert TOKENS.read(TOKENS.issue(WHO)) == WHO
    assert TOKENS.read(forged()) == WHO, "the forger of this test is the issuer but for what it changes"


@pytest.mark.parametrize(
    "token",
    [
        forged(key=None, algorithm="none"),
        unsigned_in_other_words("none"),
        unsigned_in_other_words("NoNe"),
        unsigned_in_other_words("RS256"),
        forged(key=KEY * 2, algorithm="HS512"),
        forged(key=KEY * 2, algorithm="HS384"),
        forged(key=b"x" * 32),
        forged(key=SecretBox("outra-chave-de-teste" * 3).derive("api tokens")),
        forged(key=BOX.derive("csrf")),
        forged(iss="outro"),
        forged(iss=None),
        forged(exp=None),
        forged(iat=None),
        forged(sub=None),
        forged(epoch=None),
        forged(epoch="3"),
        forged(epoch=True),
        forged(sub="not a uuid"),
        forged()[:-2],
        forged() + "A",
        "a.b.c",
        "",
    ],
)
def test_any_other_token_is_refused(token: str) -> None:
    with pytest.raises(Refusal) as refused:
        TOKENS.read(token)
    assert (refused.value.status, refused.value.code) == (401, "invalid_token")


def test_a_token_ends() -> None:
    old = TOKENS.issue(WHO, now=datetime.now(UTC) - timedelta(seconds=61))
    with pytest.raises(Refusal, match="token_expired"):
        TOKENS.read(old)


@pytest.mark.parametrize("header", ["Bearer a.b.c", "bearer a.b.c", "BEARER a.b.c", "Bearer  a.b.c"])
def test_the_scheme_is_written_in_any_case_with_a_space_or_more(header: str) -> None:
    """Case C8."""
    assert bearer_token([header]) == "a.b.c"


@pytest.mark.parametrize(
    "headers",
    [
        [], [""], ["Bearer"], ["Bearer "], ["Bearer\ta.b.c"], ["Bearer a.b.c "],
        ["Bearer a.b.c, Bearer d.e.f"],
        ["Bearer caf\xe9"], ["Bearer a.b.\xe9"], ["Basic a.b.c"], ["a.b.c"], ["Bearer a.b.c\n"],
        ["Bearer a.b.c", "Bearer a.b.c"],
    ],
)  # fmt: skip
def test_any_other_header_is_refused_and_not_an_error(headers: list[str]) -> None:
    """Cases C3 and C8."""
    with pytest.raises(Refusal) as refused:
        bearer_token(headers)
    assert refused.value.status == 401
    assert "WWW-Authenticate" in refused.value.headers
