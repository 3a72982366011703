"""`portaria contact erase`: counts first, asks, and says what it did."""

import json
from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg
import pytest
from click.testing import Result
from typer.testing import CliRunner

from portaria import wiring
from portaria.cli import app
from tests.conftest import TestDatabase
from tests.support.factory import Factory

Run = Callable[..., Result]


@pytest.fixture
def run(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("DATABASE_URL", database.owner_url)

    def runs(*words: str, stdin: str = "") -> Result:
        wiring.settings.cache_clear()
        return CliRunner().invoke(app, ["contact", "erase", *words], input=stdin)

    yield runs
    wiring.settings.cache_clear()


@pytest.fixture
def contact(make: Factory, owner: psycopg.Connection) -> UUID:
    [(made,)] = owner.execute(
        "INSERT INTO contacts (organization_id, id, name, phone_number)"
        " VALUES (%s, gen_random_uuid(), 'Ana Exemplo', '+5511987650001') RETURNING id",
        (make.organization(),),
    ).fetchall()
    return UUID(str(made))


def name(owner: psycopg.Connection) -> str | None:
    [(found,)] = owner.execute("SELECT name FROM contacts").fetchall()
    return found  # type: ignore[no-any-return]


def test_by_id_without_asking(run: Run, contact: UUID, owner: psycopg.Connection) -> None:
    done = run(str(contact), "--yes", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["contact_id"], said["counts"]["leads"]) == (str(contact), 0)
    assert said["erased_at"] is not None
    assert name(owner) is None
    again = run(str(contact), "--yes", "--json")
    assert (again.exit_code, json.loads(again.stdout)["counts"]) == (0, {})


def test_counting_changes_nothing(run: Run, contact: UUID, owner: psycopg.Connection) -> None:
    done = run("(11) 98765-0001", "--dry-run", "--json")
    assert (done.exit_code, json.loads(done.stdout)["erased_at"]) == (0, None)
    assert name(owner) == "Ana Exemplo"


def test_it_asks_first_and_takes_no_for_an_answer(run: Run, contact: UUID, owner: psycopg.Connection) -> None:
    for answer in ("n\n", ""):
        refused = run("+5511987650001", stdin=answer)
        assert refused.exit_code == 1
        assert "cannot be brought back" in refused.stderr
        assert name(owner) == "Ana Exemplo"
    done = run("+5511987650001", stdin="y\n")
    assert done.exit_code == 0, done.output
    assert name(owner) is None


def test_nobody_is_refused_in_words(run: Run, contact: UUID) -> None:
    for who in ("11 98888-7777", "2f3c0f3e-0000-4000-8000-000000000000", "ana"):
        refused = run(who, "--yes")
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "contact" in refused.stderr or "phone" in refused.stderr
