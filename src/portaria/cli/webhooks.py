"""`portaria webhooks list|show|replay`: the archive of what arrived, and its replay by hand."""

from datetime import datetime
from typing import Any, cast
from uuid import UUID

import typer

from portaria import wiring
from portaria.cli.output import command, emit, progress, rows_table, say
from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.intake.accepted import TryOutcome
from portaria.intake.arrivals import ArrivalFilter, ArrivalStatus, list_arrivals, replayable, show_arrival
from portaria.intake.by_hand import replay_by_hand

app = typer.Typer(no_args_is_help=True, help="What arrived at the channels, and its replay by hand.")
_JSON = typer.Option(False, "--json", help="One JSON document on stdout.")
_COLUMNS = ("id", "received_at", "provider", "status", "attempts", "event_type", "error_message")


@app.command("list")
@command
async def list_(
    status: str = typer.Option("", help="received, processed, error or dead."),
    organization: UUID | None = typer.Option(None, help="Only this organization's."),
    event_type: str = typer.Option(""),
    limit: int = typer.Option(50, min=1, max=1000),
    as_json: bool = _JSON,
) -> None:
    """The newest arrivals."""
    filter_ = ArrivalFilter(status=_status(status), event_type=event_type or None)
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        found = await list_arrivals(conn, organization, limit=limit, filter=filter_)
    emit(found, as_json, rows_table(found, _COLUMNS))


@app.command()
@command
async def show(row: UUID = typer.Argument(help="The arrival's id."), as_json: bool = _JSON) -> None:
    """One arrival with its headers and its raw body."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        found = await show_arrival(conn, row)
    if found is None:
        raise Refusal(404, "not_found", "There is no such arrival.")
    emit(found, as_json, rows_table([found], (*_COLUMNS, "headers", "raw_body"), upright=True))


@app.command()
@command
async def replay(
    rows: list[UUID] = typer.Argument(None, help="Ids of arrivals."),
    status: str = typer.Option("", help="All accepted messages in this status: dead, received or processed."),
    organization: UUID | None = typer.Option(None, help="Only this organization's."),
    since: datetime | None = typer.Option(None, help="Received at or after (UTC)."),
    until: datetime | None = typer.Option(None, help="Received before (UTC)."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only count."),
    as_json: bool = _JSON,
) -> None:
    """Replays accepted messages, now and outside the window; every replay is audited."""
    if bool(rows) == bool(status):
        raise typer.BadParameter("name arrivals, or a --status to select them by")
    async with wiring.command_database(wiring.settings()) as db:
        if status:
            filter_ = ArrivalFilter(since=since, until=until)
            async with db.connection() as conn:
                rows = await replayable(
                    conn, organization, status=cast(ArrivalStatus, _status(status)), filter=filter_
                )
        if dry_run:
            emit({"would_replay": len(rows)}, as_json, f"{len(rows)} would be replayed")
            return
        results = await _replay_all(db, rows, organization)
    done = sum(r["outcome"] in (TryOutcome.INGESTED, TryOutcome.DUPLICATE) for r in results)
    emit({"replayed": done, "results": results}, as_json, rows_table(results, ("id", "outcome", "error")))
    if done < len(results):
        raise typer.Exit(1)


async def _replay_all(db: Database, rows: list[UUID], organization: UUID | None) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    with progress("replaying", len(rows)) as advance:
        for row in rows:
            try:
                done = await replay_by_hand(db, row, actor="cli", organization_id=organization)
                results.append({"id": str(row), "outcome": str(done.outcome), "error": done.error})
            except Refusal as refusal:
                results.append({"id": str(row), "outcome": refusal.code, "error": refusal.detail})
            advance()
    return results


def _status(value: str) -> ArrivalStatus | None:
    if value not in ("", "received", "processed", "error", "dead"):
        say("--status is one of received, processed, error, dead")
        raise typer.Exit(2)
    return cast(ArrivalStatus, value) if value else None
