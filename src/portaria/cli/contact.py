"""`portaria contact erase`: forgets a person (LGPD). Cannot be undone, so it asks first."""

from uuid import UUID

import typer

from portaria import wiring
from portaria.cli.output import command, emit, progress, say
from portaria.cli.pick import JSON, ORGANIZATION, pick_organization
from portaria.crm.erasure import (
    Erasure,
    count_erasure,
    count_stretches,
    erase_contact,
    find_person_by_phone,
)
from portaria.db.pool import Connection

app = typer.Typer(no_args_is_help=True, help="People who wrote.")


@app.callback()
def contact() -> None:
    """People who wrote."""


@app.command()
@command
async def erase(
    who: str = typer.Argument(help="The contact's id, or its phone."),
    organization: UUID | None = ORGANIZATION,
    dry_run: bool = typer.Option(False, "--dry-run", help="Only count what would be blanked."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask."),
    as_json: bool = JSON,
) -> None:
    """Blanks a person in place, everywhere: contact, messages, leads, events, archived deliveries."""
    async with wiring.command_database(wiring.settings()) as db:
        async with db.connection() as conn:
            organization_id = await pick_organization(conn, organization)
            contact_id = await _pick_contact(conn, organization_id, who)
            stretches = await count_stretches(conn, organization_id)
        if dry_run or not yes:
            with progress("sifting the archive", stretches) as advance:
                would = await count_erasure(db, organization_id, contact_id, walked=advance)
            if dry_run or would.erased_at is not None:
                emit(would, as_json, _sentence(would, "would be blanked"))
                return
            say(_sentence(would, "will be blanked, and cannot be brought back"))
            typer.confirm("Erase this person?", abort=True, err=True)
        with progress("sifting the archive", stretches) as advance:
            erased = await erase_contact(db, organization_id, contact_id, actor="cli", walked=advance)
    emit(erased, as_json, _sentence(erased, "blanked"))


async def _pick_contact(conn: Connection, organization_id: UUID, who: str) -> UUID:
    try:
        return UUID(who)
    except ValueError:
        return await find_person_by_phone(conn, organization_id, who)


def _sentence(erasure: Erasure, what: str) -> str:
    if erasure.erased_at is not None and not erasure.counts:
        return f"{erasure.contact_id}: erased already, at {erasure.erased_at}"
    rows = ", ".join(f"{kind.replace('_', ' ')}: {count}" for kind, count in erasure.counts.items())
    waiting = f"; {erasure.pending} deliveries still being taken in" if erasure.pending else ""
    return f"{erasure.contact_id} {what}: {rows}{waiting}"
