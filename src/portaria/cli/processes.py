"""`portaria web|worker|migrate|replay|doctor`: the processes of an installation, and its one-shot cares."""

import secrets

import psycopg
import typer
import uvloop

from portaria import wiring
from portaria.cli.doctor import examine
from portaria.cli.output import command, emit, fail, say
from portaria.db.migrate import MigrationFailed
from portaria.db.migrate import migrate as run_migrate
from portaria.intake.replay import replay_round
from portaria.push.vapid import generate_private_key

_JSON = typer.Option(False, "--json", help="One JSON document on stdout.")


def web() -> None:
    """The web process: intake, API and console. Any number of them."""
    _run(wiring.run_web)


def worker() -> None:
    """The worker process: jobs, their rescue, the one-minute replay. Any number of them."""
    _run(wiring.run_worker)


def migrate(as_json: bool = _JSON) -> None:
    """Brings the database of DATABASE_URL (the owner's) to this version, roles and functions included."""
    config = wiring.settings()
    try:
        run_migrate(wiring.database_url(config), app_password=config.app_password.get_secret_value())
    except wiring.NotConfigured as error:
        fail(str(error), code=2)
    except (MigrationFailed, psycopg.Error) as error:
        fail(f"The database could not be migrated: {error}")
    emit({"migrated": True}, as_json, "The database is up to date.")


@command
async def replay(as_json: bool = _JSON) -> None:
    """One round of webhook-replay now; waits up to 30 s for a round in progress."""
    async with wiring.command_database(wiring.settings()) as db:
        done = await replay_round(db, wait=30.0)
    if done is None:
        fail("Another round is still running.")
    emit(done.summary, as_json, ", ".join(f"{k}: {v}" for k, v in done.summary.items()))


@command
async def doctor(as_json: bool = _JSON) -> None:
    """Examines the installation: settings, database, migrations, roles, queue, rows that wait."""
    findings = await examine(wiring.settings())
    emit(findings, as_json, "\n".join(f"{'ok ' if f.ok else 'BAD'} {f.name}: {f.detail}" for f in findings))
    if not all(f.ok for f in findings):
        raise typer.Exit(1)


def keys(as_json: bool = _JSON) -> None:
    """Makes up fresh values for the settings that need a secret; nothing is stored."""
    made = {
        "PORTARIA_SECRET_KEY": secrets.token_urlsafe(32),
        "PORTARIA_INSTALLATION_SECRET": secrets.token_urlsafe(32),
        "PORTARIA_VAPID_PRIVATE_KEY": generate_private_key(),
    }
    emit(made, as_json, "\n".join(f"{name}={value}" for name, value in made.items()))


def _run(process: wiring.ProcessMain) -> None:
    try:
        uvloop.run(process(wiring.settings()))
    except wiring.NotConfigured as error:
        say(str(error))
        raise typer.Exit(1) from None
