"""`portaria member add|password|role|revoke|list`. A password comes by stdin, or is made and shown once."""

from uuid import UUID

import typer

from portaria import wiring
from portaria.cli.output import command, emit, rows_table, say, stdin_line
from portaria.cli.pick import JSON, ORGANIZATION, pick_member, pick_organization
from portaria.crm.departure import release_leads
from portaria.identity.members import add_member, change_role, list_members, revoke_member
from portaria.identity.passwords import Passwords, make_password
from portaria.identity.sign_in import set_password
from portaria.identity.users import set_operator

app = typer.Typer(no_args_is_help=True, help="Members of an organization.")
_COLUMNS = ("user_id", "email", "name", "role", "is_operator", "revoked_at")
_WHO = typer.Argument(help="The member's e-mail or user id.")
_STDIN = typer.Option(False, "--password-stdin", help="Read the password from the first line of stdin.")


@app.command()
@command
async def add(
    email: str = typer.Argument(help="The person's e-mail."),
    name: str = typer.Option("", help="The person's name; by default their e-mail."),
    role: str = typer.Option("agent", help="viewer, agent, manager or admin."),
    organization: UUID | None = ORGANIZATION,
    password_stdin: bool = _STDIN,
    operator: bool = typer.Option(False, "--operator", help="Also sees what belongs to no organization."),
    as_json: bool = JSON,
) -> None:
    """Adds a person, or brings a former member back. Who has a user already keeps name and password."""
    password = stdin_line() if password_stdin else make_password()
    hashed = await Passwords().hash(password)
    async with wiring.command_database(wiring.settings()) as db, db.transaction() as conn:
        organization_id = await pick_organization(conn, organization)
        added = await add_member(
            conn, organization_id, email=email, name=name or email, role=role, password_hash=hashed,
            actor="cli",
        )  # fmt: skip
        if operator:
            await set_operator(conn, added.user_id, is_operator=True, actor="cli")
    shown = password if added.is_new_user and not password_stdin else None
    document = {
        "user_id": added.user_id, "organization_id": organization_id, "email": email.strip(), "role": role,
        "is_new_user": added.is_new_user, "password": shown,
    }  # fmt: skip
    emit(document, as_json, f"{email.strip()} is {role}: {added.user_id}")
    if not added.is_new_user:
        say("This person has a user already: name and password stay as they are.")
    elif shown and not as_json:
        say(f"Password, shown this once: {shown}")


@app.command()
@command
async def password(
    who: str = _WHO,
    organization: UUID | None = ORGANIZATION,
    password_stdin: bool = _STDIN,
    as_json: bool = JSON,
) -> None:
    """Sets a member's password anew and ends all their sign-ins."""
    given = stdin_line() if password_stdin else make_password()
    hashed = await Passwords().hash(given)
    async with wiring.command_database(wiring.settings()) as db, db.transaction() as conn:
        organization_id = await pick_organization(conn, organization)
        user_id = await pick_member(conn, organization_id, who)
        await set_password(conn, user_id, hashed)
    shown = None if password_stdin else given
    said = "The password is set." if shown is None else f"Password, shown this once: {shown}"
    emit({"user_id": user_id, "password": shown}, as_json, said)


@app.command()
@command
async def role(
    who: str = _WHO,
    role: str = typer.Argument(help="viewer, agent, manager or admin."),
    organization: UUID | None = ORGANIZATION,
    as_json: bool = JSON,
) -> None:
    """Gives a member another role."""
    async with wiring.command_database(wiring.settings()) as db, db.transaction() as conn:
        organization_id = await pick_organization(conn, organization)
        user_id = await pick_member(conn, organization_id, who)
        await change_role(conn, organization_id, user_id, role, actor="cli")
    emit({"user_id": user_id, "organization_id": organization_id, "role": role}, as_json, f"{who} is {role}")


@app.command()
@command
async def revoke(who: str = _WHO, organization: UUID | None = ORGANIZATION, as_json: bool = JSON) -> None:
    """Ends a membership at once; the member's open leads lose their owner."""
    async with wiring.command_database(wiring.settings()) as db, db.transaction() as conn:
        organization_id = await pick_organization(conn, organization)
        user_id = await pick_member(conn, organization_id, who)
        await revoke_member(conn, organization_id, user_id, actor="cli", on_revoke=release_leads)
    document = {"user_id": user_id, "organization_id": organization_id, "revoked": True}
    emit(document, as_json, f"{who} is no member any more")


@app.command("list")
@command
async def list_(
    organization: UUID | None = ORGANIZATION,
    all_: bool = typer.Option(False, "--all", help="Former members too."),
    as_json: bool = JSON,
) -> None:
    """The members of an organization."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        organization_id = await pick_organization(conn, organization)
        found = await list_members(conn, organization_id, limit=10_000, with_revoked=all_)
    emit(found, as_json, rows_table(found, _COLUMNS))
