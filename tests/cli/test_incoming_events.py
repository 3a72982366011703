"""`portaria incoming-events …` and `simulate account-event`: one JSON document, exit 0, 1 and 2."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from portaria import wiring
from portaria.cli import incoming_events, simulate_account
from tests.accounts.workbench import Events
from tests.conftest import TestDatabase
from tests.support.accounts_process import web

APP = typer.Typer()
APP.add_typer(incoming_events.app, name="incoming-events")
APP.command("account-event")(simulate_account.account_event)

Run = Callable[..., Result]


@pytest.fixture
def run(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs `incoming-events` as the owner would, and says what came of it."""
    monkeypatch.setenv("DATABASE_URL", database.owner_url)

    def runs(*words: str) -> Result:
        wiring.settings.cache_clear()
        return CliRunner().invoke(APP, ["incoming-events", *words])

    yield runs
    wiring.settings.cache_clear()


@pytest.fixture
def events(owner: psycopg.Connection) -> Events:
    return Events(owner)


def done(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_events_are_listed_and_shown_with_the_body_as_it_came(run: Run, events: Events) -> None:
    failed, _ = events.event(attempts=3, status="failed")
    events.event(event_type="OTHER")
    body = '{"event_id" :"evt_0","n":9007199254740993}'
    events.owner.execute("UPDATE incoming_events SET payload = %s WHERE id = %s", [body, failed])
    assert [row["event_id"] for row in done(run("list", "--json"))] == ["evt_1", "evt_0"]
    [listed] = done(run("list", "--status", "failed", "--json"))
    assert (listed["id"], listed["status"], listed["attempts"]) == (str(failed), "failed", 3)
    for name in (str(failed), "evt_0"):
        assert done(run("show", name, "--json"))["payload"] == body
    assert body in run("show", "evt_0").stdout
    assert "evt_1" in run("list").stdout


def test_one_event_is_reprocessed_by_either_id(run: Run, events: Events) -> None:
    failed, _ = events.event(attempts=3, status="failed")
    assert done(run("reprocess", "evt_0", "--dry-run", "--json")) == {"would_reprocess": 1}
    assert events.row(failed)[0] == "failed"
    assert done(run("reprocess", "evt_0", "--json"))["reprocessed"] == 1
    assert events.row(failed)[:2] == ("pending", 0)
    again = run("reprocess", str(failed), "--json")
    assert again.exit_code == 1
    assert json.loads(again.stdout)["results"][0]["outcome"] == "pending"
    [(actor,)] = events.owner.execute("SELECT actor FROM api_audit_log").fetchall()
    assert actor == "cli"


def test_a_processed_event_takes_force_and_only_by_itself(run: Run, events: Events) -> None:
    first, _ = events.event(status="processed")
    events.event(status="processed")
    assert run("reprocess", "evt_0", "--json").exit_code == 1
    assert run("reprocess", "evt_0", "evt_1", "--force").exit_code == 2
    assert run("reprocess", "--status", "failed", "--force").exit_code == 2
    assert done(run("reprocess", "evt_0", "--force", "--json"))["reprocessed"] == 1
    assert events.row(first)[0] == "pending"


def test_by_filter_the_count_comes_first(run: Run, events: Events) -> None:
    for kind in ("A", "A", "B"):
        events.event(attempts=3, status="failed", event_type=kind)
    assert done(run("reprocess", "--type", "A", "--dry-run", "--json")) == {"would_reprocess": 2}
    assert done(run("reprocess", "--type", "A", "--json")) == {"found": 2, "reprocessed": 2}
    assert done(run("reprocess", "--status", "failed", "--until", "2020-01-01", "--json")) == {
        "found": 0,
        "reprocessed": 0,
    }
    assert "1 of 1 reprocessed" in run("reprocess", "--status", "failed").stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["reprocess"], 2),
        (["reprocess", "evt_0", "--type", "A"], 2),
        (["reprocess", "--status", "processed"], 2),
        (["list", "--status", "lost"], 2),
        (["show"], 2),
        (["show", "nobody"], 1),
        (["reprocess", "nobody"], 1),
    ],
)
def test_wrong_use_is_2_and_a_refusal_1(run: Run, words: list[str], code: int) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert "Traceback" not in result.stderr


def test_an_account_event_is_simulated_with_what_dev_json_says(
    run: Run, events: Events, database: TestDatabase, tmp_path: Path
) -> None:
    def simulate(*words: str) -> Result:
        return CliRunner().invoke(APP, ["account-event", "--data-dir", str(tmp_path), "--json", *words])

    assert simulate().exit_code == 1, "no dev.json, no --url"
    with web(database.app_url, "o-token") as (_, url):
        (tmp_path / "dev.json").write_text(json.dumps({"url": url, "accounts_token": "o-token"}))
        made = done(simulate("--count", "20", "--type", "OTHER", "--data", '{"n": 1}'))
        assert (made["sent"], made["answers"]) == (20, {"202": 20})
        again = done(simulate("--event-id", "evt_x", "--count", "3", "--rate", "100"))
        assert Counter(again["answers"]) == {"202": 1, "200": 2}
        refused = simulate("--token", "another")
        assert (refused.exit_code, json.loads(refused.stdout)["answers"]) == (1, {"401": 1})
        assert simulate("--data", "[]").exit_code == 2
    assert events.count("incoming_events") == 21
