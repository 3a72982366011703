"""What must be true of every id afterwards. Each check is a query of `queries.sql`."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import psycopg

from portaria.db.queries import load_queries
from tests.crash.world import Delivery

_Q: Final = load_queries("tests.crash")
CHECKS: Final = tuple(name for name in _Q if name.startswith(("lost_", "doubled_", "broken_")))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The ids that break each check's sentence; no entry for a check that holds."""

    broken: dict[str, list[str]]

    @property
    def lost(self) -> int:
        return self._ids("lost_")

    @property
    def doubled(self) -> int:
        return self._ids("doubled_")

    @property
    def good(self) -> bool:
        return not self.broken

    def _ids(self, prefix: str) -> int:
        return len({id_ for name, ids in self.broken.items() if name.startswith(prefix) for id_ in ids})

    def lines(self) -> list[str]:
        """One line per check that does not hold, with its first ids."""
        return [f"{name}: {len(ids)}: {', '.join(ids[:5])}" for name, ids in self.broken.items()]


def tell_what_was_sent(
    conn: psycopg.Connection, world: Iterable[Delivery], answered: set[str], named: Iterable[UUID]
) -> None:
    """Fills the tables that the checks compare with."""
    with conn.cursor().copy("COPY crash.sent FROM STDIN") as copy:
        for d in world:
            copy.write_row((d.id, d.kind, d.organization_id, d.phone, d.opts_out, d.id in answered))
    with conn.cursor().copy("COPY crash.named FROM STDIN") as copy:
        for arrival in named:
            copy.write_row((arrival,))


def look(conn: psycopg.Connection) -> Verdict:
    """Every check, on a database at rest."""
    found = {name: [str(row[0]) for row in conn.execute(_Q[name]).fetchall()] for name in CHECKS}
    return Verdict({name: ids for name, ids in found.items() if ids})


def count(conn: psycopg.Connection) -> Counter[str]:
    """How much of everything there is."""
    tables = (
        "webhook_events_log", "contacts", "conversations", "messages", "crm_leads", "event_log",
        "automation_rodizio_atribuicoes", "incoming_events", "contact_opt_outs",
    )  # fmt: skip
    return Counter({t: conn.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables})  # type: ignore[index]
