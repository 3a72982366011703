"""Channel secrets at rest: readable with any live key, with no other, and never guessable from reprs."""

import pytest

from portaria.identity.secret_box import SecretBox, SecretUnreadable, WeakSecretKey

OLD, NEW, OTHER = ("chave-antiga-" * 4, "chave-nova-" * 4, "chave-alheia-" * 4)


@pytest.mark.parametrize("secret", ["segredo-0123456789", "sécret-ção-🔑", ""])
def test_a_secret_comes_back_and_its_ciphertext_does_not_show_it(secret: str) -> None:
    box = SecretBox(NEW)
    first, second = box.encrypt(secret), box.encrypt(secret)
    assert box.decrypt(first) == box.decrypt(second) == secret
    assert first != second
    assert not secret or secret.encode() not in first


def test_a_rotated_key_still_opens_what_the_previous_one_wrote_and_can_move_it() -> None:
    old = SecretBox(OLD).encrypt("segredo")
    rotated = SecretBox(NEW, [OLD])
    assert rotated.decrypt(old) == "segredo"
    with pytest.raises(SecretUnreadable):
        SecretBox(NEW).decrypt(old)
    assert SecretBox(NEW).decrypt(rotated.reencrypt(old)) == "segredo"


FOREIGN = SecretBox(OTHER).encrypt("segredo")


@pytest.mark.parametrize(
    "broken", [b"", b"lixo", b"\xff\x00", FOREIGN], ids=["empty", "text", "bytes", "foreign"]
)
def test_what_no_live_key_opens_is_unreadable(broken: bytes) -> None:
    with pytest.raises(SecretUnreadable):
        SecretBox(NEW, [OLD]).decrypt(broken)


def test_derived_keys_differ_by_purpose_and_by_key_and_are_stable() -> None:
    box = SecretBox(NEW, [OLD])
    assert box.derive("token") == SecretBox(NEW).derive("token")
    assert len({box.derive("token"), box.derive("csrf"), SecretBox(OLD).derive("token")}) == 3
    assert len(box.derive("token")) == 32


@pytest.mark.parametrize(("key", "previous"), [("", []), ("x" * 31, []), (NEW, ["short"])])
def test_a_weak_key_is_refused_at_once(key: str, previous: list[str]) -> None:
    with pytest.raises(WeakSecretKey):
        SecretBox(key, previous)


def test_the_box_does_not_print_its_key() -> None:
    assert NEW not in repr(SecretBox(NEW))
