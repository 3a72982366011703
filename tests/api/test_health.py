"""Alive, ready, measured: readiness names what fails, and says so with 503."""

import httpx
import psycopg
import pytest

from portaria.db.pool import Database
from portaria.ids import uuid7


def worker_seen(owner: psycopg.Connection, ago: str) -> None:
    owner.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - %s::interval)", (ago,))


async def test_the_process_lives_whatever_the_database_does(client: httpx.AsyncClient, db: Database) -> None:
    await db.close()
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_ready_says_what_it_looked_at(client: httpx.AsyncClient, owner: psycopg.Connection) -> None:
    worker_seen(owner, "30 s")
    owner.execute(
        "INSERT INTO webhook_events_log (id, provider, raw_body, valid_signature, received_at)"
        " VALUES (%s, 'zernio', 'x', true, now() - interval '10 min')",
        (uuid7(),),
    )
    answer = await client.get("/readyz")
    assert answer.status_code == 200, answer.text
    checks = answer.json()["checks"]
    assert all(check["ok"] for check in checks.values())
    assert 590 < checks["oldest_pending_seconds"]["value"] < 700


@pytest.mark.parametrize(
    ("fault", "named"),
    [("DELETE FROM schema_migrations WHERE version = '20261201000004'", "migrations"), ("SELECT 1", "queue")],
)
async def test_what_fails_is_named(
    client: httpx.AsyncClient, owner: psycopg.Connection, fault: str, named: str
) -> None:
    worker_seen(owner, "30 s" if named == "migrations" else "61 s")
    owner.execute(fault)  # type: ignore[call-overload]
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["failed"]) == (503, [named])
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"]


async def test_a_database_that_is_away_is_not_ready(client: httpx.AsyncClient, db: Database) -> None:
    await db.close()
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["failed"]) == (503, ["database"])


async def test_metrics_are_in_prometheus_format(client: httpx.AsyncClient) -> None:
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert "# HELP portaria_" in answer.text
