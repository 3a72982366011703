"""Plans of what runs for ever (case E15): pending rows are found by their index in any archive."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from portaria.db.embedded import EmbeddedServer
from portaria.db.queries import load_queries
from tests.conftest import TestDatabase
from tests.intake.backroom import one_database

QUERIES = load_queries("portaria.intake")
PARAMETERS = {"rows": 2000, "bound": 50_001}
ARCHIVED = 1_000_000
PENDING = 100_000


@pytest.fixture(scope="module")
def archive(server: EmbeddedServer) -> Iterator[TestDatabase]:
    """A million finished rows and one that waits."""
    with one_database(server, "archive") as database:
        with psycopg.connect(database.owner_url, autocommit=True) as owner:
            # Neither matters to the plans, both to the time that this takes.
            owner.execute("ALTER TABLE webhook_events_log SET UNLOGGED, SET (fillfactor = 100)")
            fill(owner, 0, ARCHIVED, "processed")
            fill(owner, ARCHIVED, 1, "received")
            owner.execute("ANALYZE webhook_events_log")
        yield database


def fill(conn: psycopg.Connection, first: int, rows: int, status: str) -> None:
    """Rows of three organizations, a millisecond apart, the newest seven minutes old."""
    conn.execute(
        "INSERT INTO webhook_events_log (id, organization_id, channel_session_id, provider, raw_body, status,"
        "  valid_signature, received_at, processed_at)"
        " SELECT lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n %% 3), 32, '0')::uuid, NULL, 'zernio', '{}',"
        "  %(s)s, true, now() - interval '7 minutes' - interval '1 ms' * n,"
        "  CASE WHEN %(s)s <> 'received' THEN now() END"
        " FROM generate_series(%(first)s, %(last)s) AS n",
        {"s": status, "first": first, "last": first + rows - 1},
    )


def plan(conn: psycopg.Connection, name: str) -> tuple[set[str], float]:
    """The indexes and whole tables that a query reads, and the milliseconds it takes."""
    explain = "EXPLAIN (ANALYZE, FORMAT JSON) "
    parameters = PARAMETERS | {"round_started": "infinity"}
    ((made,),) = conn.execute(explain + QUERIES[name], parameters).fetchall()
    (root,) = json.loads(made) if isinstance(made, str) else made
    return set(reads(root["Plan"])), root["Execution Time"]


def reads(node: dict[str, Any]) -> Iterator[str]:
    if "Index Name" in node:
        yield node["Index Name"]
    elif node["Node Type"].endswith("Seq Scan"):
        yield f"all of {node['Relation Name']}"
    for child in node.get("Plans", []):
        yield from reads(child)


def test_pending_rows_are_found_by_their_index(archive: TestDatabase) -> None:
    """With one among a million, and with a hundred thousand, which the statistics do not know of, then do."""
    with (
        psycopg.connect(archive.owner_url, autocommit=True) as owner,
        psycopg.connect(archive.app_url, cursor_factory=psycopg.ClientCursor) as app,
    ):
        check(app, within=50)
        fill(owner, ARCHIVED + 1, PENDING - 1, "received")
        check(app, within=2000)
        owner.execute("ANALYZE webhook_events_log")
        check(app, within=2000)


def check(app: psycopg.Connection, *, within: float) -> None:
    """As the application sees them; nothing is kept of what the queries write."""
    for name in ("replay_candidates", "backlog", "close_never_accepted"):
        used, took = plan(app, name)
        app.rollback()
        assert used - {"webhook_events_log_pkey"} == {"webhook_events_log_pending"}, name
        assert took < within, name
