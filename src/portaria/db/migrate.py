"""Brings a database to this version: roles, the queue's schema, migrations (dbmate), functions, grants.

Safe to run by several processes at once, and again at any time.
"""

import os
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from portaria.db import queue_schema

_HERE = files("portaria.db")


class MigrationFailed(Exception):
    """The database could not be brought up to date; the message says what the tool said."""


def migrate(owner_url: str, *, app_password: str = "") -> None:
    """Migrates the database at `owner_url` (the owner's URL, spec 7).

    `app_password`, when given, becomes the password of the login `portaria_app`. Raises
    `MigrationFailed`, or `psycopg.Error` when the server cannot be reached.
    """
    with psycopg.connect(owner_url, autocommit=True, connect_timeout=10) as conn:
        conn.execute(_sql("roles.sql"))
        if app_password:
            conn.execute(sql.SQL("ALTER ROLE portaria_app PASSWORD {}").format(sql.Literal(app_password)))
        queue_schema.apply(conn)
        _dbmate(owner_url, encrypted=conn.pgconn.ssl_in_use)
        _functions(conn)


def pending(conn: psycopg.Connection) -> list[str]:
    """Versions of this release that the database lacks."""
    rows = conn.execute("SELECT version FROM schema_migrations").fetchall()
    return sorted(versions() - {str(row[0]) for row in rows})


def versions() -> set[str]:
    """The versions of this release's migrations."""
    return {f.name.split("_", 1)[0] for f in (_HERE / "migrations").iterdir() if f.name.endswith(".sql")}


def _sql(name: str) -> bytes:
    return (_HERE / name).read_bytes()


def _functions(conn: psycopg.Connection) -> None:
    """The current body of every function, then who may call them, in one transaction."""
    with conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('migrate:', 7))")
        conn.execute("SET LOCAL check_function_bodies = off")
        for file in sorted((_HERE / "functions").iterdir(), key=lambda f: f.name):
            if file.name.endswith(".sql"):
                conn.execute(file.read_bytes())
        conn.execute(_sql("grants.sql"))


def _dbmate(url: str, *, encrypted: bool) -> None:
    parts = urlsplit(url)
    if "sslmode" not in parts.query and not encrypted:
        # dbmate insists on TLS unless told; what the driver negotiated a moment ago is what we say.
        parts = parts._replace(query="&".join(filter(None, [parts.query, "sslmode=disable"])))
    program = Path(sys.executable).with_name("dbmate")
    with as_file(_HERE / "migrations") as folder:
        done = subprocess.run(
            [
                str(program) if program.exists() else "dbmate",
                "--env-file", os.devnull, "--migrations-dir", str(folder),
                "--no-dump-schema", "--migration-lock", "migrate",
            ],
            env={**os.environ, "DATABASE_URL": urlunsplit(parts)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        raise MigrationFailed((done.stderr or done.stdout).strip())
