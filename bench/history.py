"""Databases with a history: what an installation looks like that has been in use.

A function keeps the plans of its first calls, and PostgreSQL judges an empty table by guesses until
autovacuum has come by: figures from an empty database are about that minute alone. So everything is
measured on copies of one database with a short history, for ourselves and for pgbench alike.
"""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from bench import bodies
from bench.site import HERE, Site, make_site
from portaria.db.embedded import EmbeddedServer
from portaria.ids import uuid7

HEADERS = (
    '{"content-type": "application/json", "user-agent": "Zernio-Webhooks/1.0",'
    ' "x-zernio-event": "message.received", "x-late-event": "message.received",'
    ' "x-zernio-event-id": "01bc5551-0593-5d46-a5d8-1224b4c7b10b",'
    ' "x-zernio-signature": "91e6f19fcf34835087031c375b1d7e922754a0e370885671918bca553445404f"}'
)
SHORT = 20_000
_origins: dict[EmbeddedServer, Site] = {}


def lived_in(server: EmbeddedServer, name: str) -> Site:
    """A copy of the database with a short history."""
    origin = _origins.get(server)
    if origin is None:
        origin = make_site(server, "history")
        fill(origin, rotation_of(origin), 0, SHORT)
        _origins[server] = origin
    return origin.copy(name)


def fill(site: Site, rule: UUID, first: int, last: int, *, per_message: int = 5) -> None:
    """History from archived row `first` to row `last`, as `sql/fill.sql` says; analyzed, on disk, and
    vacuumed: else autovacuum begins with all of it while something is measured. The archive and all that
    follows from it are filled at the same time, by a connection each.
    """
    given = {
        "first": first,
        "last": last,
        "per_message": per_message,
        "per_contact": per_message * 10,
        "org": site.demo.organization_id,
        "session": site.demo.channel_id,
        "member": site.demo.members[0].user_id,
        "rule": rule,
        "headers": HEADERS,
        "body": bodies.one(site.demo.account_id, "old"),
    }

    def run(name: str) -> None:
        with psycopg.connect(site.owner_url, autocommit=True, cursor_factory=psycopg.ClientCursor) as conn:
            for file in ("fill", name):
                text = (HERE / "sql" / f"{file}.sql").read_text(encoding="utf-8")
                for statement in text.split(";\n\n"):
                    conn.execute(statement.encode(), given)

    with ThreadPoolExecutor() as threads:
        list(threads.map(run, ("fill_archive", "fill_effects")))
    for statement in ("VACUUM", "CHECKPOINT"):
        site.sql(statement)


def rotation_of(site: Site) -> UUID:
    """The demo's rotation; one is made where there is none."""
    found = site.value("SELECT id FROM automation_rules WHERE is_active LIMIT 1")
    if found is not None:
        return UUID(str(found))
    made = uuid7()
    queue = [{"user_id": str(m.user_id), "pausado": False} for m in site.demo.members if m.role == "agent"]
    actions = [{"type": "assign_owner", "config": {"modo": "rodizio", "fila": queue}}]
    with psycopg.connect(site.owner_url, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO automation_rules (organization_id, id, name, trigger_event, actions, is_active)"
            " VALUES (%s, %s, 'Rodízio', 'lead.created', %s, true)",
            (site.demo.organization_id, made, Jsonb(actions)),
        )
    return made
