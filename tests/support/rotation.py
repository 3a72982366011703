"""Rules, leads and turns for tests, made in plain SQL as the owner."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from portaria.identity.principal import Principal, Role
from portaria.ids import uuid7
from tests.support.factory import Factory

TURN = "SELECT fn_automation_rodizio_atribuir(%s, %s, %s, %s)"


def queue_of(*members: UUID, paused: tuple[UUID, ...] = ()) -> list[dict[str, Any]]:
    return [{"user_id": str(m), "pausado": m in paused} for m in members]


def rotation(*members: UUID, paused: tuple[UUID, ...] = ()) -> dict[str, Any]:
    return {"type": "assign_owner", "config": {"modo": "rodizio", "fila": queue_of(*members, paused=paused)}}


def fixed(member: UUID) -> dict[str, Any]:
    return {"type": "assign_owner", "config": {"user_id": str(member)}}


@dataclass
class Desk:
    """One organization with members, rules and leads."""

    conn: psycopg.Connection
    make: Factory
    org: UUID = field(default_factory=uuid7)

    @classmethod
    def open(cls, conn: psycopg.Connection, make: Factory) -> "Desk":
        return cls(conn, make, make.organization())

    def members(self, *names: str, role: str = "agent") -> list[UUID]:
        return [self.make.member(self.org, name, role=role) for name in names]

    def principal(self, role: str = "admin", user: UUID | None = None) -> Principal:
        """A signed-in member; a new one unless `user` is given."""
        user = user or self.make.member(self.org, "Gil", role=role)
        return Principal(
            user_id=user, email="gil@exemplo.test", name="Gil", is_operator=False, organization_id=self.org,
            organization_name="Loja", role=Role.of(role), time_zone="America/Sao_Paulo", locale="pt_BR",
        )  # fmt: skip

    def rule(
        self, *actions: dict[str, Any], trigger: str = "lead.created", conditions: list[Any] | None = None,
        active: bool = True,
    ) -> UUID:  # fmt: skip
        made = uuid7()
        self.conn.execute(
            "INSERT INTO automation_rules (organization_id, id, name, trigger_event, conditions, actions,"
            " is_active) VALUES (%s, %s, 'Regra', %s, %s, %s, %s)",
            (self.org, made, trigger, Jsonb(conditions or []), Jsonb(list(actions)), active),
        )
        return made

    def set_actions(self, rule: UUID, *actions: dict[str, Any]) -> None:
        self.conn.execute(
            "UPDATE automation_rules SET actions = %s WHERE id = %s", (Jsonb(list(actions)), rule)
        )

    def contact(self, name: str = "Cliente") -> UUID:
        made = uuid7()
        self.conn.execute(
            "INSERT INTO contacts (organization_id, id, name) VALUES (%s, %s, %s)", (self.org, made, name)
        )
        return made

    def lead(
        self, *, title: str = "Pedido", owner: UUID | None = None, tags: tuple[str, ...] = (),
        conn: psycopg.Connection | None = None, contact: UUID | None = None,
    ) -> tuple[UUID, UUID]:  # fmt: skip
        """A lead from a form and the id of its `lead.created`."""
        made = uuid7()
        contact = contact or self.contact()
        (conn or self.conn).execute(
            "INSERT INTO crm_leads (organization_id, id, contact_id, title, source, owner_user_id, tags)"
            " VALUES (%s, %s, %s, %s, 'form', %s, %s)",
            (self.org, made, contact, title, owner, list(tags)),
        )
        return made, self.event(made, conn=conn)

    def event(self, lead: UUID, kind: str = "lead.created", conn: psycopg.Connection | None = None) -> UUID:
        """The newest event of this kind of the lead."""
        [(found,)] = (conn or self.conn).execute(
            "SELECT id FROM event_log WHERE entity_id = %s AND event_type = %s ORDER BY seq DESC LIMIT 1",
            (lead, kind),
        )
        return found

    def turn(self, rule: UUID, lead: UUID | None = None, event: UUID | None = None) -> dict[str, Any]:
        """One turn as the owner; for a new lead if none is given."""
        if lead is None:
            lead, event = self.lead()
        [(outcome,)] = self.conn.execute(TURN, (self.org, rule, lead, event or self.event(lead)))
        return dict(outcome)

    def owner_of(self, lead: UUID) -> UUID | None:
        return self.value("SELECT owner_user_id FROM crm_leads WHERE id = %s", lead)

    def turns(self, rule: UUID) -> list[UUID]:
        """Who had the turns, in order."""
        rows = self.conn.execute(
            "SELECT user_id FROM automation_rodizio_atribuicoes WHERE rule_id = %s ORDER BY seq", (rule,)
        )
        return [row[0] for row in rows]

    def value(self, query: str, *parameters: object) -> Any:
        row = self.conn.execute(query, parameters).fetchone()
        assert row is not None
        return row[0]

    def events(self, kind: str) -> int:
        return int(self.value(
            "SELECT count(*) FROM event_log WHERE organization_id = %s AND event_type = %s", self.org, kind
        ))  # fmt: skip

    def jobs(self) -> list[tuple[str, str, UUID]]:
        """Queue, task and event of the organization's waiting jobs, in order."""
        return self.conn.execute(
            "SELECT queue_name, task_name, (args ->> 'event_id')::uuid FROM procrastinate_jobs"
            " WHERE args ->> 'organization_id' = %s::text ORDER BY id",
            (self.org,),
        ).fetchall()
