"""`portaria org create|list`."""

import typer

from portaria import wiring
from portaria.cli.output import command, emit, rows_table
from portaria.cli.pick import JSON
from portaria.identity.organizations import create_organization, list_organizations

app = typer.Typer(no_args_is_help=True, help="Organizations, the tenants.")
_COLUMNS = ("id", "name", "time_zone", "locale", "created_at")


@app.command()
@command
async def create(
    name: str = typer.Argument(help="The organization's name."),
    time_zone: str = typer.Option("America/Sao_Paulo", help="An IANA time zone."),
    locale: str = typer.Option("pt_BR", help="pt_BR or en."),
    as_json: bool = JSON,
) -> None:
    """Makes an organization; then add its first admin by `portaria member add`."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        made = await create_organization(conn, name=name, time_zone=time_zone, locale=locale, actor="cli")
    emit({"id": made, "name": name.strip()}, as_json, f"Organization {name.strip()}: {made}")


@app.command("list")
@command
async def list_(as_json: bool = JSON) -> None:
    """Every organization, the oldest first."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        found = await list_organizations(conn)
    emit(found, as_json, rows_table(found, _COLUMNS))
