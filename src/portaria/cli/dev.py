"""`portaria dev`: everything in one process tree, on the embedded PostgreSQL or on DATABASE_URL (spec 7)."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import httpx
import typer
from psycopg.conninfo import make_conninfo

from portaria.cli.demo import Demo, ensure_demo
from portaria.cli.dev_home import DevHome, DevKeys
from portaria.cli.supervise import Child, Process, supervise
from portaria.db.embedded import EmbeddedServer, EmbeddedServerError
from portaria.db.migrate import migrate
from portaria.db.pool import Database
from portaria.identity.secret_box import SecretBox


def dev(
    port: int = typer.Option(8000, help="Port of the console and the API."),
    data_dir: Path = typer.Option(Path(".portaria"), help="Where the database and the keys are kept."),
    no_demo: bool = typer.Option(False, "--no-demo", help="Without the demo organization."),
) -> None:
    """Starts everything: database, web, worker, and a demo organization to try it on."""
    _check_port(port)
    home = DevHome(data_dir.resolve())
    server, owner_url = _database(home)  # first: it refuses a data directory that is in use
    home.withdraw()
    keys = home.keys()
    try:
        migrate(owner_url, app_password=keys.app_password)
        app_url = make_conninfo(owner_url, user="portaria_app", password=keys.app_password)
        environment = {**os.environ, **child_environment(keys, app_url, port)}
        demo = None if no_demo else asyncio.run(_demo(app_url, keys))
        announcement = describe(port, owner_url, keys, demo)
        url = f"http://127.0.0.1:{port}"

        def announce() -> None:
            home.announce(announcement)
            _greet(url, demo, keys, data_dir)

        children: list[Child] = [server] if server else []
        program = [sys.executable, "-m", "portaria"]
        children += [
            Process("web", [*program, "web"], environment),
            Process("worker", [*program, "worker"], environment),
        ]
        supervise(children, ready=lambda: _answers(url), on_ready=announce)
    finally:
        home.withdraw()
        if server:
            server.stop()


def child_environment(keys: DevKeys, app_url: str, port: int) -> dict[str, str]:
    """The settings of web and worker in development."""
    return {
        "DATABASE_URL": app_url,
        "PORTARIA_PORT": str(port),
        "PORTARIA_SECRET_KEY": keys.secret_key,
        "PORTARIA_INSTALLATION_SECRET": keys.installation_secret,
        "ACCOUNTS_WEBHOOK_TOKEN": keys.accounts_token,
        "PORTARIA_VAPID_PRIVATE_KEY": keys.vapid_private_key,
        "PORTARIA_PUBLIC_URL": f"http://127.0.0.1:{port}",
        "PORTARIA_LOG_FORMAT": os.environ.get("PORTARIA_LOG_FORMAT", "console"),
        "PORTARIA_LOG_LEVEL": os.environ.get("PORTARIA_LOG_LEVEL", "warning"),
        "PORTARIA_FORM_RATE": os.environ.get("PORTARIA_FORM_RATE", "0"),
    }


def describe(port: int, owner_url: str, keys: DevKeys, demo: Demo | None) -> dict[str, object]:
    """What `dev.json` says."""
    url = f"http://127.0.0.1:{port}"
    said: dict[str, object] = {
        "url": url,
        "database_url": owner_url,
        "installation": {
            "url": f"{url}/api/v1/webhooks/canal-da-instalacao",
            "secret": keys.installation_secret,
        },
        "accounts_token": keys.accounts_token,
    }
    return said if demo is None else {**said, **demo.describe(url)}


async def _demo(app_url: str, keys: DevKeys) -> Demo:
    db = Database(app_url, name="portaria demo", size=2)
    await db.open()
    try:
        return await ensure_demo(db, SecretBox(keys.secret_key), keys)
    finally:
        await db.close()


def _database(home: DevHome) -> tuple[EmbeddedServer | None, str]:
    """The embedded server, running, or none with DATABASE_URL; and the owner's URL."""
    given = os.environ.get("DATABASE_URL", "").strip()
    if given:
        return None, given
    server = EmbeddedServer(home.folder)
    try:
        server.start()
        server.create_database("portaria")
    except EmbeddedServerError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    return server, server.url("portaria")


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            typer.echo(f"Port {port} is in use; try: portaria dev --port {port + 80}", err=True)
            raise typer.Exit(1) from None


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=0.5).status_code == 200
    except httpx.HTTPError:
        return False


def _greet(url: str, demo: Demo | None, keys: DevKeys, data_dir: Path) -> None:
    lines = ["", f"Portaria is ready: {url}"]
    if demo is not None:
        lines += [
            f"  sign in as {demo.admin_email} with the password {keys.admin_password}",
            "  send it a WhatsApp message, as the provider would:",
            "    .venv/bin/portaria simulate message --text 'Olá, vocês têm horário amanhã?'",
        ]
    lines += [f"  every address and secret: {data_dir / 'dev.json'}", "  Ctrl-C stops everything", ""]
    print("\n".join(lines), flush=True)
