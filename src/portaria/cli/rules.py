"""`portaria rule list|next`: the automations, and whose turn it is and why (spec 4)."""

from dataclasses import asdict
from uuid import UUID

import typer

from portaria import wiring
from portaria.automations.rotation import Candidate, Preview, preview
from portaria.automations.rulebook import list_rules
from portaria.automations.rules import rotation_of
from portaria.cli.output import command, emit, rows_table
from portaria.cli.pick import JSON, ORGANIZATION, pick_organization

app = typer.Typer(no_args_is_help=True, help="Automation rules and the rotation.")
_COLUMNS = ("id", "name", "trigger_event", "is_active", "rotation", "version", "deleted_at")
_DELETED = typer.Option(False, "--deleted", help="Deleted rules too: their history stays.")


@app.command("list")
@command
async def list_(
    deleted: bool = _DELETED, organization: UUID | None = ORGANIZATION, as_json: bool = JSON
) -> None:
    """The rules, in the order in which they run."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        organization_id = await pick_organization(conn, organization)
        rules = await list_rules(conn, organization_id, deleted=deleted)
    shown = [{**asdict(rule), "rotation": _size(rotation_of(rule.actions))} for rule in rules]
    emit(rules, as_json, rows_table(shown, _COLUMNS))


@app.command("next")
@command
async def next_(
    rule: UUID = typer.Argument(help="The rule's id."),
    organization: UUID | None = ORGANIZATION,
    as_json: bool = JSON,
) -> None:
    """Who gets the next lead, the order after them, and who is skipped for which reason. Writes nothing."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        found = await preview(conn, await pick_organization(conn, organization), rule)
    emit(found, as_json, _told(found))


def _size(queue: list[object] | None) -> str:
    return "" if queue is None else f"{len(queue)} in the queue"


def _told(found: Preview) -> str:
    lines = [
        f"next: {_named(found.next)}" if found.next else f"nobody: {found.reason}",
        *(f"{c.place:>3}. {_named(c)}{f'  skipped: {c.reason}' if c.reason else ''}" for c in found.order),
    ]
    if found.newest:
        lines.append(f"last turn: {found.newest.nome}, position {found.newest.posicao}")
    return "\n".join(lines)


def _named(candidate: Candidate) -> str:
    return f"{candidate.nome or candidate.user_id}, position {candidate.posicao}"
