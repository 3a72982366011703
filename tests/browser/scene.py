"""An organization with something of everything in it; every name that people gave is an attack."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb

from portaria.identity.secret_box import SecretBox
from portaria.ids import uuid7
from portaria.intake.providers import samples
from tests.console.workbench import FrontDesk
from tests.support.factory import Channel, Factory
from tests.support.http import SECRET_KEY
from tests.support.rotation import rotation

ATTACK = "<img src=x onerror=\"document.title='hacked'\">"
ODD = b'{"event": "message.received", "n": 123456789012345678901234567890, "odd": "\xff\x00"}'
SECRET = "segredo-inventado-zernio-0123456789"


@dataclass
class Scene:
    """The organization, and the ways in which things happen in it."""

    desk: FrontDesk
    owner: psycopg.Connection
    organization: UUID
    channel: Channel
    sent: int = field(default=0)

    @classmethod
    def open(cls, desk: FrontDesk, owner: psycopg.Connection, name: str = "Loja Exemplo") -> "Scene":
        make = Factory(owner)
        organization = make.organization(name)
        box = SecretBox(SECRET_KEY)
        phone = f"+5511{uuid4().int % 10**9:09d}"
        channel = make.channel(organization, phone_number=phone, secret_ciphertext=box.encrypt(SECRET))
        name = f"WhatsApp {ATTACK}"
        owner.execute("UPDATE channel_sessions SET name = %s WHERE id = %s", (name, channel.id))
        return cls(desk, owner, organization, channel)

    def arrives(self, text: str = "Olá", *, phone: str = "+5511987650001", **more: Any) -> str:
        """A person writes; the provider's id of the message."""
        self.sent += 1
        external_id = more.pop("external_id", f"wamid.{self.channel.token[:6]}{self.sent:04d}")
        given = {"name": "Maria Cardoso", "sent_at": datetime.now(UTC), **more}
        self.send(samples.message_received(self.channel.account_id, external_id, phone, text, **given))
        return external_id

    def send(self, body: dict[str, Any] | bytes, *, status: int = 200) -> None:
        answer = self.desk.deliver(self.channel.token, self.channel.secret, body)
        assert answer.status_code == status, answer.text

    def member(self, name: str, role: str = "agent") -> UUID:
        return Factory(self.owner).member(self.organization, name, role=role)

    def rule(self, *members: UUID, name: str = "Rodízio", paused: tuple[UUID, ...] = ()) -> UUID:
        made = uuid7()
        self.owner.execute(
            "INSERT INTO automation_rules (organization_id, id, name, trigger_event, actions)"
            " VALUES (%s, %s, %s, 'lead.created', %s)",
            (self.organization, made, name, Jsonb([rotation(*members, paused=paused)])),
        )
        return made

    def notice(
        self, title: str, body: str = "", *, kind: str = "event_dead", arrival: UUID | None = None
    ) -> None:
        about = ("webhook_event", str(arrival)) if arrival else (None, None)
        self.owner.execute(
            "SELECT fn_open_notice(%s, %s, 'error', %s, %s, %s, %s)",
            (self.organization, kind, title, body, *about),
        )

    def lead(self, title: str = "Pedido", *, hours: int = 0, contact: str = "Rosa") -> UUID:
        made, person = uuid7(), uuid7()
        self.owner.execute(
            "INSERT INTO contacts (organization_id, id, name) VALUES (%s, %s, %s)",
            (self.organization, person, contact),
        )
        self.owner.execute(
            "INSERT INTO crm_leads (organization_id, id, contact_id, title, source, created_at)"
            " VALUES (%s, %s, %s, %s, 'form', %s)",
            (self.organization, made, person, title, datetime.now(UTC) - timedelta(hours=hours)),
        )
        return made

    def one(self, query: str, *values: object) -> Any:
        """The first value of the first row."""
        row = self.owner.execute(query, values).fetchone()  # type: ignore[arg-type]
        return row[0] if row else None

    def any_of(self, table: str) -> UUID:
        """A row of this organization."""
        found = self.one(f"SELECT id FROM {table} WHERE organization_id = %s LIMIT 1", self.organization)
        assert isinstance(found, UUID), table
        return found

    def fill(self) -> None:
        """Something of everything, all of it with the attack for a name."""
        people = [self.member(f"{name} {ATTACK}") for name in ("Ana", "Bruno", "Carla")]
        self.rule(*people, name=f"Rodízio {ATTACK}", paused=(people[1],))
        self.rule(name=f"Sem ninguém {ATTACK}")
        self.arrives(f"Oi {ATTACK}", name=f"Maria {ATTACK}")
        self.arrives("SAIR", phone="+5511987650002", name=f"João {ATTACK}")
        picture = {"type": "image", "url": "https://x.example/1"}
        self.arrives("Foto", phone="+5511987650003", attachments=[picture])
        self.send(ODD, status=400)
        self.lead(f"Orçamento {ATTACK}", hours=30, contact=f"Rosa {ATTACK}")
        self.notice(f'Modelo "{ATTACK}": REJECTED', f"Motivo informado: {ATTACK}.", kind="automation")
        self.notice("Uma mensagem do número oficial não entrou no CRM", arrival=uuid4())
        self.owner.execute(
            "INSERT INTO lead_forms (organization_id, id, path_token, name) VALUES (%s, %s, %s, %s)",
            (self.organization, uuid7(), uuid4().hex, f"Formulário {ATTACK}"),
        )
        former = self.member(f"Ex {ATTACK}")
        self.owner.execute("UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s", (former,))
        self.desk.accounts_event(f"evt-{ATTACK}", f"tipo {ATTACK}")
        self.desk.write_minutes()

    def paths(self) -> list[str]:
        """Every page of the console, with something of this organization on it."""
        of = {
            "/conversations/": "conversations", "/leads/": "crm_leads", "/automations/": "automation_rules",
            "/arrivals/": "webhook_events_log", "/channels/": "channel_sessions", "/forms/": "lead_forms",
        }  # fmt: skip
        event = self.one("SELECT id FROM incoming_events WHERE event_id LIKE 'evt-%%' LIMIT 1")
        return [
            "/", "/notices", "/notices?show=resolved", "/conversations", "/conversations?q=zzz",
            "/leads", "/leads?view=board", "/leads?owner=none", "/leads/new", "/automations",
            "/automations/new", "/arrivals", "/arrivals?status=dead", "/arrivals/replay", "/accounts-events",
            "/accounts-events/reprocess", f"/accounts-events/{event}", "/channels", "/channels/new", "/forms",
            "/forms/new", "/members", "/audit", "/profile",
            *(prefix + str(self.any_of(table)) for prefix, table in of.items()),
        ]  # fmt: skip
