"""`portaria incoming-events list|show|reprocess`: what the accounts service told, and starting it anew."""

from datetime import UTC, datetime
from typing import get_args
from uuid import UUID

import typer

from portaria import wiring
from portaria.accounts.listing import EventFilter, Status, find_by_event_id, find_event, list_events
from portaria.accounts.reprocess import FailedFilter, count_failed, reprocess, reprocess_failed
from portaria.cli.output import command, emit, progress, rows_table
from portaria.cli.pick import JSON
from portaria.db.pool import Connection
from portaria.errors import Refusal

app = typer.Typer(no_args_is_help=True, help="Events of the accounts service, and reprocessing them.")
_COLUMNS = ("id", "received_at", "event_id", "event_type", "status", "attempts", "error_message")
_EVENTS = typer.Argument(None, help="Ids of events: ours or the sender's.")
_SINCE = typer.Option(None, help="Received at or after (UTC).")
_UNTIL = typer.Option(None, help="Received before (UTC).")


@app.command("list")
@command
async def list_(
    status: str = typer.Option("", help="pending, processed or failed."),
    event_type: str = typer.Option("", "--type", help="Only of this type."),
    since: datetime | None = _SINCE,
    until: datetime | None = _UNTIL,
    limit: int = typer.Option(50, min=1, max=1000),
    as_json: bool = JSON,
) -> None:
    """The newest events."""
    wanted = EventFilter(_status(status), event_type or None, since=_utc(since), until=_utc(until))
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        found = await list_events(conn, limit=limit, filter=wanted)
    emit(found, as_json, rows_table(found, _COLUMNS))


@app.command()
@command
async def show(
    event: str = typer.Argument(help="The event's id: ours or the sender's."), as_json: bool = JSON
) -> None:
    """One event with its payload exactly as it came."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        found = await find_event(conn, await _pick(conn, event))
    emit(
        found,
        as_json,
        rows_table([found], (*_COLUMNS, "occurred_at", "processed_at", "payload"), upright=True),
    )


@app.command("reprocess")
@command
async def reprocess_(
    events: list[str] = _EVENTS,
    status: str = typer.Option("", help="All events in this status: failed, the only one by filter."),
    event_type: str = typer.Option("", "--type", help="Only failed events of this type."),
    since: datetime | None = _SINCE,
    until: datetime | None = _UNTIL,
    force: bool = typer.Option(False, "--force", help="One event, also if it took effect already."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only count."),
    as_json: bool = JSON,
) -> None:
    """Starts events anew: pending, no attempts spent, and their jobs; audited.

    Name events, or select failed ones by --status failed, --type, --since, --until. A processed event is
    started anew only by itself, with --force.
    """
    events = events or []
    by_filter = bool(status or event_type or since or until)
    if bool(events) == by_filter:
        raise typer.BadParameter(
            "name events, or select failed ones by --status failed, --type, --since, --until"
        )
    if _status(status) not in (None, "failed"):
        raise typer.BadParameter("only failed events are started anew by filter")
    if force and len(events) != 1:
        raise typer.BadParameter("--force takes one event")
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        if by_filter:
            wanted = FailedFilter(event_type or None, _utc(since), _utc(until))
            await _by_filter(conn, wanted, dry_run, as_json)
        else:
            await _by_name(conn, events, force, dry_run, as_json)


async def _by_filter(conn: Connection, wanted: FailedFilter, dry_run: bool, as_json: bool) -> None:
    found = await count_failed(conn, wanted)
    if dry_run:
        emit({"would_reprocess": found}, as_json, f"{found} would be reprocessed")
        return
    done = 0
    with progress("reprocessing", found) as advance:
        async for some in reprocess_failed(conn, wanted, actor="cli"):
            done += some
            for _ in range(some):
                advance()
    emit({"found": found, "reprocessed": done}, as_json, f"{done} of {found} reprocessed")


async def _by_name(conn: Connection, events: list[str], force: bool, dry_run: bool, as_json: bool) -> None:
    rows = [await _pick(conn, event) for event in events]
    if dry_run:
        emit({"would_reprocess": len(rows)}, as_json, f"{len(rows)} would be reprocessed")
        return
    results = []
    for row in rows:
        try:
            await reprocess(conn, row, actor="cli", force=force)
            results.append({"id": str(row), "outcome": "pending", "error": None})
        except Refusal as refusal:
            results.append({"id": str(row), "outcome": refusal.code, "error": refusal.detail})
    done = sum(result["error"] is None for result in results)
    document = {"reprocessed": done, "results": results}
    emit(document, as_json, rows_table(results, ("id", "outcome", "error")))
    if done < len(results):
        raise typer.Exit(1)


async def _pick(conn: Connection, given: str) -> UUID:
    """The event given by our id or by the sender's. Raises a 404 `Refusal`."""
    try:
        row: UUID | None = UUID(given)
    except ValueError:
        row = None
    if row is None or await find_event(conn, row) is None:
        row = await find_by_event_id(conn, given)
    if row is None:
        raise Refusal(404, "not_found", f"There is no event {given}.")
    return row


def _status(value: str) -> Status | None:
    for known in get_args(Status):
        if value == known:
            return known  # type: ignore[no-any-return]
    if value:
        raise typer.BadParameter(f"--status is one of {', '.join(get_args(Status))}")
    return None


def _utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None else None
