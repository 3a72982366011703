"""`portaria channel create|rotate-secret|archive|list`. A secret is shown once, where it is made."""

from uuid import UUID

import typer

from portaria import wiring
from portaria.cli.output import command, emit, fail, rows_table, stdin_line
from portaria.cli.pick import JSON, ORGANIZATION, pick_organization
from portaria.intake import channels

app = typer.Typer(no_args_is_help=True, help="Connected numbers and accounts.")
_COLUMNS = ("id", "provider", "name", "account_id", "phone_number", "state", "archived_at")
_CHANNEL = typer.Argument(help="The channel's id.")
_STDIN = typer.Option(False, "--secret-stdin", help="Read the secret from the first line of stdin.")


@app.command()
@command
async def create(
    account_id: str = typer.Argument(help="The account's id at the provider."),
    provider: str = typer.Option("zernio", help="zernio (WhatsApp) or zernio_social."),
    name: str = typer.Option("", help="A name for people."),
    phone: str = typer.Option("", help="The number, such as +55 11 3000-9999."),
    profile: str = typer.Option("", help="The provider's profile id, for events that name nothing else."),
    organization: UUID | None = ORGANIZATION,
    secret_stdin: bool = _STDIN,
    as_json: bool = JSON,
) -> None:
    """Registers an account, and shows its URL and its secret once."""
    config = wiring.settings()
    box = wiring.secret_box(config)
    request = channels.ChannelRequest(
        provider, account_id, name, phone or None, profile or None, stdin_line() if secret_stdin else None
    )
    async with wiring.command_database(config) as db, db.connection() as conn:
        organization_id = await pick_organization(conn, organization)
        made = await channels.create_channel(conn, box, organization_id, request, actor="cli")
    url = channels.channel_url(config.address, made.token)
    document = {
        "id": made.id, "organization_id": organization_id, "token": made.token, "url": url,
        "secret": made.secret,
    }  # fmt: skip
    human = f"Channel {made.id}\nURL     {url}\nSecret  {made.secret}   (shown this once)"
    emit(document, as_json, human)


@app.command("rotate-secret")
@command
async def rotate_secret(
    channel: UUID = _CHANNEL,
    keep: float = typer.Option(72.0, min=0, max=720, help="Hours the old secret stays good."),
    organization: UUID | None = ORGANIZATION,
    secret_stdin: bool = _STDIN,
    as_json: bool = JSON,
) -> None:
    """Makes a new secret and shows it once; the old one stays good for a while."""
    config = wiring.settings()
    box = wiring.secret_box(config)
    given = stdin_line() if secret_stdin else None
    async with wiring.command_database(config) as db, db.connection() as conn:
        organization_id = await pick_organization(conn, organization)
        rotated = await channels.rotate_secret(
            conn, box, organization_id, channel, actor="cli", secret=given, keep_for=keep * 3600
        )
    document = {"id": channel, "secret": rotated.secret, "previous_secret_until": rotated.previous_until}
    lives = f"\nThe old one is good until {rotated.previous_until}." if rotated.previous_until else ""
    emit(document, as_json, f"Secret  {rotated.secret}   (shown this once){lives}")


@app.command()
@command
async def reencrypt(as_json: bool = JSON) -> None:
    """Moves all secrets to PORTARIA_SECRET_KEY; then PORTARIA_PREVIOUS_SECRET_KEYS can be emptied."""
    config = wiring.settings()
    box = wiring.secret_box(config)
    async with wiring.command_database(config) as db, db.connection() as conn:
        done = await channels.reencrypt_secrets(conn, box)
    emit(done, as_json, f"{done.moved} channels moved, {done.unreadable} unreadable")
    if done.unreadable:
        fail("No live key opens those: give them a new secret by portaria channel rotate-secret.")


@app.command()
@command
async def archive(
    channel: UUID = _CHANNEL, organization: UUID | None = ORGANIZATION, as_json: bool = JSON
) -> None:
    """Ends a channel: what still arrives is archived and ignored."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        organization_id = await pick_organization(conn, organization)
        changed = await channels.archive_channel(conn, organization_id, channel, actor="cli")
    document = {"id": channel, "archived": True, "changed": changed}
    emit(document, as_json, "archived" if changed else "was archived already")


@app.command("list")
@command
async def list_(
    organization: UUID | None = ORGANIZATION,
    all_: bool = typer.Option(False, "--all", help="Archived ones too."),
    as_json: bool = JSON,
) -> None:
    """The channels of an organization, without their secrets."""
    async with wiring.command_database(wiring.settings()) as db, db.connection() as conn:
        organization_id = await pick_organization(conn, organization)
        found = await channels.list_channels(conn, organization_id, limit=10_000, with_archived=all_)
    emit(found, as_json, rows_table(found, _COLUMNS))
