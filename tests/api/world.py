"""Two organizations with everything that a route can name, and people of every role in each."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import psycopg
from psycopg.types.json import Jsonb

from portaria.identity.principal import Role
from portaria.identity.sign_in import SignedIn
from portaria.identity.tokens import Tokens
from portaria.ids import uuid7
from tests.support.factory import Factory

OPERATOR = "operator"
MARK = "planted-in"


@dataclass
class House:
    """One organization. `ids` holds, by the name of a route's parameter, a row of its own."""

    id: UUID
    people: dict[str, UUID]
    ids: dict[str, UUID] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """Stands in everything of this organization that a person could read."""
        return f"{MARK}-{self.id}"


class World:
    """Builds houses, and asks the API as one of their people."""

    def __init__(
        self, owner: psycopg.Connection, make: Factory, tokens: Tokens, client: httpx.AsyncClient
    ) -> None:
        self.owner, self.make, self.tokens, self.client = owner, make, tokens, client

    def house(self, number: int) -> House:
        """An organization with one row of every kind."""
        organization = self.make.organization(f"Casa {number}")
        people = {role.name: self.make.member(organization, role.name, role=role.name) for role in Role}
        people[OPERATOR] = self.make.member(organization, OPERATOR, role="viewer")
        self.owner.execute("UPDATE users SET is_operator = true WHERE id = %s", (people[OPERATOR],))
        house = House(organization, people)
        channel = self.make.channel(organization, phone_number=f"+55113000000{number}")
        house.ids["channel_id"] = channel.id
        house.ids["user_id"] = self.make.member(organization, f"Membro {house.mark}", role="agent")
        house.ids["contact_id"] = self.row("contacts", house, name=house.mark, is_blocked=True)
        conversation = self.row(
            "conversations", house, contact_id=house.ids["contact_id"], channel_session_id=channel.id,
            provider_conversation_id="t1", last_message_preview=house.mark, unread_count=1,
            last_message_at=datetime.now(UTC),
        )  # fmt: skip
        house.ids["conversation_id"] = conversation
        self.row(
            "messages", house, conversation_id=conversation, contact_id=house.ids["contact_id"],
            channel_session_id=channel.id, direction="inbound", external_id="m1", type="text",
            body=house.mark, status="received", sent_at=datetime.now(UTC),
        )  # fmt: skip
        house.ids["lead_id"] = self.row(
            "crm_leads", house, contact_id=house.ids["contact_id"], title=house.mark, source="whatsapp"
        )
        house.ids["rule_id"] = self.row(
            "automation_rules", house, name=house.mark, trigger_event="lead.created",
            actions=Jsonb([{"type": "add_tag", "config": {"tag": "novo"}}]),
        )  # fmt: skip
        house.ids["notice_id"] = self.row("notices", house, kind="event_dead", title=house.mark)
        house.ids["event_id"] = self.row(
            "webhook_events_log", house, provider="zernio", channel_session_id=channel.id,
            raw_body=house.mark.encode(), status="dead", valid_signature=True, error_message=house.mark,
            processed_at=datetime.now(UTC),
        )  # fmt: skip
        self.row("api_audit_log", house, action="lead.created", actor=house.mark)
        house.ids["row_id"] = uuid7()
        self.owner.execute(
            "INSERT INTO incoming_events (id, event_id, event_type, occurred_at, payload, status, attempts,"
            " processed_at) VALUES (%s, %s, 'x', now(), '{}', 'failed', 3, now())",
            (house.ids["row_id"], f"evt-{house.id}"),
        )
        return house

    def row(self, table: str, house: House, **values: Any) -> UUID:
        """Inserts a row of that organization, and returns its id."""
        made = uuid7()
        values = {"id": made, "organization_id": house.id, **values}
        names = ", ".join(values)
        places = ", ".join(["%s"] * len(values))
        self.owner.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", list(values.values()))  # type: ignore[arg-type]
        return made

    def token(self, user_id: UUID, epoch: int = 0) -> str:
        return self.tokens.issue(SignedIn(user_id, epoch))

    async def ask(
        self, who: UUID | None, method: str, path: str, *, organization: UUID | None = None, **more: Any
    ) -> httpx.Response:
        """One request as that user; without one, signed out."""
        headers = dict(more.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.token(who)}"
        if organization is not None:
            headers["X-Organization-Id"] = str(organization)
        return await self.client.request(method, path, headers=headers, **more)

    def fingerprint(self, house: House) -> dict[str, str]:
        """Everything of that organization, for telling whether anything of it changed."""
        tables = self.owner.execute(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND column_name = 'organization_id' ORDER BY 1"
        ).fetchall()
        found = {}
        for (table,) in tables:
            [(digest,)] = self.owner.execute(
                f"SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM {table} t"  # type: ignore[arg-type]
                " WHERE organization_id = %s",
                (house.id,),
            ).fetchall()
            found[table] = digest
        return found
