"""`portaria rule list|next`: one JSON document on stdout, plain words for people."""

import json
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from click.testing import Result
from typer.testing import CliRunner

from portaria import wiring
from portaria.cli.rules import app
from tests.conftest import TestDatabase
from tests.support.rotation import Desk, rotation

Run = Callable[..., Result]


@pytest.fixture
def run(shared: TestDatabase, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("DATABASE_URL", shared.owner_url)

    def runs(*words: str) -> Result:
        wiring.settings.cache_clear()
        return CliRunner().invoke(app, [*words, "--org", str(desk.org)])

    yield runs
    wiring.settings.cache_clear()


def test_list_and_next(run: Run, desk: Desk) -> None:
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b, paused=(b,)))
    [listed] = json.loads(run("list", "--json").stdout)
    assert (listed["id"], listed["actions"]) == (str(rule), [rotation(a, b, paused=(b,))])
    desk.turn(rule)
    shown = json.loads(run("next", str(rule), "--json").stdout)
    assert (shown["status"], shown["next"]["nome"], shown["next"]["posicao"]) == ("assigned", "Ana", 1)
    assert [(c["nome"], c["reason"]) for c in shown["order"]] == [("Bia", "pausado"), ("Ana", None)]
    words = run("next", str(rule)).stdout
    assert "next: Ana, position 1" in words
    assert "Bia, position 2  skipped: pausado" in words
    assert "last turn: Ana, position 1" in words


def test_a_rule_that_is_not_there_ends_with_1_and_nonsense_with_2(run: Run) -> None:
    missing = run("next", str(uuid4()))
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "no such rule" in missing.stderr
    assert run("next", "ana").exit_code == 2
