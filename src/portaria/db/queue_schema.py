"""The job queue's schema comes from the installed library, and each of its upgrades once.

Which of the library's own migration files a database holds is kept in `queue_migrations`.
"""

from importlib.resources import files

import psycopg

_LIBRARY = files("procrastinate.sql")


def apply(conn: psycopg.Connection) -> None:
    """Creates the queue's tables, or applies the library's later migrations, in one transaction."""
    with conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('migrate:', 7))")
        conn.execute("CREATE TABLE IF NOT EXISTS queue_migrations (name text PRIMARY KEY)")
        known = {row[0] for row in conn.execute("SELECT name FROM queue_migrations")}
        wanted = sorted(f.name for f in (_LIBRARY / "migrations").iterdir() if f.name.endswith(".sql"))
        if not known:
            conn.execute((_LIBRARY / "schema.sql").read_bytes())
        else:
            for name in wanted:
                if name not in known:
                    conn.execute((_LIBRARY / "migrations" / name).read_bytes())
        conn.cursor().executemany(
            "INSERT INTO queue_migrations (name) VALUES (%s) ON CONFLICT DO NOTHING", [(n,) for n in wanted]
        )
