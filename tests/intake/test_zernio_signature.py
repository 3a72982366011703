import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portaria.intake.providers import provider_for
from portaria.intake.providers.samples import sign
from tests.intake.zernio_payloads import Body, vectors

zernio = provider_for("zernio")
SECRET = b"segredo-inventado-0123456789"
RAW = b'{"b":1, "a":"\\u00e9"}\r\n'
SIGNATURE = hmac.digest(SECRET, RAW, "sha256").hex().encode()


def wire(headers: dict[str, str]) -> dict[bytes, bytes]:
    return {name.lower().encode(): value.encode() for name, value in headers.items()}


def verify(signature: bytes, secrets: tuple[bytes, ...] = (SECRET,), raw: bytes = RAW) -> bool:
    return zernio.verify(raw, {b"x-zernio-signature": signature}, secrets)


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["sample"])
def test_the_vectors_verify_and_one_changed_byte_does_not(vector: Body) -> None:
    raw, secret, headers = vector["rawBodyUtf8"].encode(), vector["secret"].encode(), wire(vector["headers"])
    assert zernio.verify(raw, headers, [secret])
    for at in range(len(raw)):
        assert not zernio.verify(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :], headers, [secret])


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["sample"])
def test_our_own_samples_are_signed_like_the_vectors(vector: Body) -> None:
    assert sign(vector["rawBodyUtf8"].encode(), vector["secret"]) == vector["headers"]


def test_the_bytes_are_signed_not_their_meaning() -> None:
    """Case C1."""
    assert verify(SIGNATURE)
    assert not verify(SIGNATURE, raw=RAW.replace(b", ", b","))
    assert not verify(SIGNATURE, raw=RAW.rstrip())


@pytest.mark.parametrize(
    "signature", [SIGNATURE.upper(), b"sha256=" + SIGNATURE, b"SHA256=" + SIGNATURE.upper()]
)
def test_spellings_of_one_signature(signature: bytes) -> None:
    assert verify(signature)


@pytest.mark.parametrize(
    "signature",
    [
        b"",
        b"sha256=",
        b"\xe9" + SIGNATURE[1:],
        b"sha256=\xe9" + SIGNATURE[1:],
        SIGNATURE[:-1],
        SIGNATURE + b"0",
        SIGNATURE[:32],
        b"sha256=sha256=" + SIGNATURE,
        b"sha1=" + SIGNATURE,
        b"v1," + SIGNATURE,
        SIGNATURE + b", " + SIGNATURE,
        hmac.digest(SECRET, RAW, "sha256"),
    ],
)
def test_what_is_no_signature_is_refused_without_an_exception(signature: bytes) -> None:
    """Case C3."""
    assert not verify(signature)


def test_the_legacy_header_counts_only_alone() -> None:
    legacy = {b"x-late-signature": SIGNATURE}
    assert zernio.verify(RAW, legacy, [SECRET])
    assert not zernio.verify(RAW, {**legacy, b"x-zernio-signature": b"0" * 64}, [SECRET])
    assert not zernio.verify(RAW, {}, [SECRET])


def test_any_live_secret_will_do() -> None:
    for secrets in ((SECRET, b"another"), (b"another", SECRET), (b"", SECRET)):
        assert verify(SIGNATURE, secrets)
    assert not verify(SIGNATURE, (b"another", b"a third"))
    assert not verify(SIGNATURE, ())


def test_an_empty_secret_proves_nothing() -> None:
    assert not verify(hmac.digest(b"", RAW, "sha256").hex().encode(), (b"",))


def test_a_secret_outside_ascii_works() -> None:
    """Case C3."""
    headers = wire(sign(RAW, "sécret-ação-0123456789"))
    assert zernio.verify(RAW, headers, ["sécret-ação-0123456789".encode()])
    assert not zernio.verify(RAW, headers, ["sécret-ação-0123456789".encode("latin-1")])


@given(st.binary(), st.binary(max_size=80), st.lists(st.binary(max_size=80), max_size=3))
def test_any_bytes_at_all_are_only_refused(raw: bytes, signature: bytes, secrets: list[bytes]) -> None:
    assert not zernio.verify(raw, {b"x-zernio-signature": signature}, secrets)
