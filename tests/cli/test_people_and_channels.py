"""`portaria org|member|channel`: one JSON document on stdout, plain words on stderr, exit 0, 1 and 2."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from portaria import wiring
from portaria.cli import channel, member, org
from portaria.identity.secret_box import SecretBox
from portaria.ids import uuid7
from tests.conftest import TestDatabase

KEY = "chave-de-teste-" * 3
APP = typer.Typer()
for name, commands in (("org", org.app), ("member", member.app), ("channel", channel.app)):
    APP.add_typer(commands, name=name)

Run = Callable[..., Result]


@pytest.fixture
def run(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a command as the owner would, and says what came of it."""
    monkeypatch.setenv("DATABASE_URL", database.owner_url)
    monkeypatch.setenv("PORTARIA_SECRET_KEY", KEY)
    monkeypatch.setenv("PORTARIA_PUBLIC_URL", "https://crm.exemplo.test/")

    def runs(*words: str, stdin: str = "") -> Result:
        wiring.settings.cache_clear()
        return CliRunner().invoke(APP, list(words), input=stdin)

    yield runs
    wiring.settings.cache_clear()


def done(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_an_organization_gets_its_admin_and_the_admin_signs_in_with_what_was_shown(
    run: Run, owner: psycopg.Connection
) -> None:
    made = done(run("org", "create", "Loja Exemplo", "--json"))
    added = done(
        run("member", "add", "ana@exemplo.test", "--name", "Ana", "--role", "admin", "--operator", "--json")
    )
    assert (added["organization_id"], added["is_new_user"]) == (made["id"], True)
    assert len(added["password"]) >= 16
    [listed] = done(run("member", "list", "--json"))
    assert (listed["email"], listed["role"], listed["is_operator"]) == ("ana@exemplo.test", "admin", True)
    [(kept,)] = owner.execute("SELECT password_hash FROM users").fetchall()
    assert kept.startswith("$argon2")
    assert added["password"] not in repr(owner.execute("SELECT * FROM api_audit_log").fetchall())


def test_a_password_comes_by_stdin_and_is_never_repeated(run: Run) -> None:
    done(run("org", "create", "Loja", "--json"))
    result = run("member", "add", "ana@exemplo.test", "--password-stdin", "--json", stdin="minha-senha-1\n")
    assert done(result)["password"] is None
    assert "minha-senha-1" not in result.output
    refused = run("member", "add", "bia@exemplo.test", "--password-stdin", stdin="curta\n")
    assert (refused.exit_code, "8 to 1024" in refused.stderr) == (1, True)
    changed = run(
        "member", "password", "ana@exemplo.test", "--password-stdin", "--json", stdin="outra-senha-2\n"
    )
    assert done(changed)["password"] is None


def test_a_member_is_given_a_role_revoked_and_their_leads_released(
    run: Run, owner: psycopg.Connection
) -> None:
    made = done(run("org", "create", "Loja", "--json"))
    added = done(run("member", "add", "bia@exemplo.test", "--json"))
    contact = uuid7()
    owner.execute("INSERT INTO contacts (organization_id, id) VALUES (%s, %s)", (made["id"], contact))
    owner.execute(
        "INSERT INTO crm_leads (organization_id, id, contact_id, title, source, owner_user_id)"
        " VALUES (%s, %s, %s, 'x', 'console', %s)",
        (made["id"], uuid7(), contact, added["user_id"]),
    )
    assert done(run("member", "role", "bia@exemplo.test", "manager", "--json"))["role"] == "manager"
    assert done(run("member", "revoke", added["user_id"], "--json"))["revoked"] is True
    assert owner.execute("SELECT owner_user_id FROM crm_leads").fetchone() == (None,)
    again = run("member", "revoke", "bia@exemplo.test")
    assert (again.exit_code, again.stderr.strip()) == (1, "There is no such member.")
    assert done(run("member", "list", "--json")) == []
    assert len(done(run("member", "list", "--all", "--json"))) == 1


def test_a_channel_shows_its_url_and_secret_once(run: Run, owner: psycopg.Connection) -> None:
    done(run("org", "create", "Loja", "--json"))
    made = done(run("channel", "create", "conta-1", "--phone", "+55 11 3000-9999", "--json"))
    assert made["url"] == f"https://crm.exemplo.test/api/v1/webhooks/channel/{made['token']}"
    [(kept,)] = owner.execute("SELECT secret_ciphertext FROM channel_sessions").fetchall()
    assert SecretBox(KEY).decrypt(kept) == made["secret"]
    listed = run("channel", "list", "--json")
    assert done(listed)[0]["phone_number"] == "+551130009999"
    assert made["secret"] not in listed.output
    human = run("channel", "create", "conta-2", "--secret-stdin", stdin="um-segredo-do-provedor\n")
    assert human.exit_code == 0
    assert "um-segredo-do-provedor" in human.stdout


def test_a_rotated_secret_keeps_the_old_one_and_an_archived_channel_frees_its_account(
    run: Run, owner: psycopg.Connection
) -> None:
    done(run("org", "create", "Loja", "--json"))
    made = done(run("channel", "create", "conta-1", "--json"))
    rotated = done(run("channel", "rotate-secret", made["id"], "--keep", "1", "--json"))
    [(old,)] = owner.execute("SELECT previous_secret_ciphertext FROM channel_sessions").fetchall()
    assert SecretBox(KEY).decrypt(old) == made["secret"] != rotated["secret"]
    assert rotated["previous_secret_until"]
    taken = run("channel", "create", "conta-1")
    assert (taken.exit_code, taken.stderr.strip()) == (
        1, "This account is already registered by a live channel.",
    )  # fmt: skip
    assert done(run("channel", "archive", made["id"], "--json"))["changed"] is True
    assert done(run("channel", "archive", made["id"], "--json"))["changed"] is False
    done(run("channel", "create", "conta-1", "--json"))


def test_a_new_secret_key_takes_over_every_secret_and_the_old_key_can_go(
    run: Run, owner: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(run("org", "create", "Loja", "--json"))
    made = done(run("channel", "create", "conta-1", "--json"))
    monkeypatch.setenv("PORTARIA_SECRET_KEY", "chave-nova-" * 4)
    lost = run("channel", "reencrypt", "--json")
    assert (lost.exit_code, json.loads(lost.stdout)) == (1, {"moved": 0, "unreadable": 1})
    monkeypatch.setenv("PORTARIA_PREVIOUS_SECRET_KEYS", KEY)
    assert done(run("channel", "reencrypt", "--json")) == {"moved": 1, "unreadable": 0}
    [(kept,)] = owner.execute("SELECT secret_ciphertext FROM channel_sessions").fetchall()
    assert SecretBox("chave-nova-" * 4).decrypt(kept) == made["secret"]


def test_several_organizations_must_be_told_apart(run: Run) -> None:
    assert "portaria org create" in run("member", "list").stderr
    made = [done(run("org", "create", f"Loja {n}", "--json"))["id"] for n in range(2)]
    assert "--organization" in run("member", "add", "ana@exemplo.test").stderr
    added = done(run("member", "add", "ana@exemplo.test", "--organization", made[1], "--json"))
    assert added["organization_id"] == made[1]
    elsewhere = run("member", "role", "ana@exemplo.test", "admin", "--organization", made[0])
    assert (elsewhere.exit_code, elsewhere.stderr.strip()) == (1, "There is no such member.")
    again = done(run("member", "add", "ANA@exemplo.test", "--organization", made[0], "--json"))
    assert (again["is_new_user"], again["password"]) == (False, None)
    unknown = run("channel", "list", "--organization", str(uuid4()))
    assert (unknown.exit_code, unknown.stderr.strip()) == (1, "There is no such organization.")


@pytest.mark.parametrize(
    "words",
    [
        ("org", "create"),
        ("member", "add"),
        ("member", "add", "a@b.c", "--organization", "not-an-id"),
        ("channel", "archive", "not-an-id"),
        ("channel", "rotate-secret", str(uuid4()), "--keep", "9999"),
        ("channel", "nothing"),
    ],
)
def test_wrong_use_ends_with_2(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


def test_what_is_missing_is_said_in_plain_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done(run("org", "create", "Loja", "--json"))
    monkeypatch.setenv("PORTARIA_SECRET_KEY", "curta")
    no_key = run("channel", "create", "conta-1")
    assert (no_key.exit_code, "PORTARIA_SECRET_KEY" in no_key.stderr) == (1, True)
    monkeypatch.setenv("DATABASE_URL", "")
    no_url = run("org", "list")
    assert (no_url.exit_code, "DATABASE_URL" in no_url.stderr) == (1, True)
    assert "Traceback" not in no_key.output + no_url.output
