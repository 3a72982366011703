"""The demo organization of `portaria dev` (spec 7): one admin, three agents, a channel, a form, a rotation.

Made once per database, found again by its admin's e-mail address; what the kept keys say is set anew at
each start, so that a data directory and a database of different ages fit together.
"""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import msgspec

from portaria.automations.rulebook import create_rule, list_rules
from portaria.automations.rules import RuleDraft
from portaria.cli.dev_home import DevKeys
from portaria.crm.forms import LeadFormDraft, create_form, list_forms
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.identity.members import add_member, list_members
from portaria.identity.organizations import create_organization
from portaria.identity.passwords import Passwords
from portaria.identity.principal import Principal, Role
from portaria.identity.secret_box import SecretBox
from portaria.intake.channels import ChannelRequest, create_channel

_Q = load_queries("portaria.cli")
ADMIN_EMAIL = "admin@demo.portaria.test"
_AGENTS = (
    ("Ana Souza", "ana@demo.portaria.test"),
    ("Bruno Lima", "bruno@demo.portaria.test"),
    ("Carla Dias", "carla@demo.portaria.test"),
)
_ACCOUNT = "demo-portaria-0001"
_PHONE = "+551130009999"


@dataclass(frozen=True, slots=True)
class DemoMember:
    user_id: UUID
    email: str
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo organization is, for `dev.json`."""

    organization_id: UUID
    admin_password: str
    members: list[DemoMember]
    channel_id: UUID
    channel_token: str
    account_id: str
    channel_secret: str
    form_token: str
    rule_id: UUID
    admin_email: str = ADMIN_EMAIL

    def describe(self, url: str) -> dict[str, Any]:
        """The keys of `dev.json` that the demo adds."""
        members = [{k: str(v) for k, v in asdict(m).items()} for m in self.members]
        return {
            "organization_id": str(self.organization_id),
            "admin": {"email": self.admin_email, "password": self.admin_password},
            "members": members,
            "channel": {
                "id": str(self.channel_id),
                "token": self.channel_token,
                "url": f"{url}/api/v1/webhooks/channel/{self.channel_token}",
                "account_id": self.account_id,
                "secret": self.channel_secret,
            },
            "form": {
                "token": self.form_token,
                "url": f"{url}/api/v1/lead-forms/{self.form_token}",
                "page": f"{url}/f/{self.form_token}",
            },
            "rule_id": str(self.rule_id),
        }


async def ensure_demo(db: Database, box: SecretBox, keys: DevKeys) -> Demo:
    """Finds the demo organization, or makes it."""
    async with db.transaction() as conn:
        organization_id = await _organization(conn)
        if organization_id is None:
            organization_id = await _make(conn, box, keys)
        await _set_passwords(conn, keys)
        channel_id, token = await _set_channel_secret(conn, box, organization_id, keys)
        found = await list_members(conn, organization_id, limit=50)
        members = [DemoMember(m.user_id, m.email, m.name, m.role) for m in found]
        form_token, rule_id = await _form_and_rotation(conn, organization_id, members)
    return Demo(
        organization_id, keys.admin_password, members, channel_id, token, _ACCOUNT, keys.channel_secret,
        form_token, rule_id,
    )  # fmt: skip


async def _make(conn: Connection, box: SecretBox, keys: DevKeys) -> UUID:
    organization_id = await create_organization(conn, name="Loja Demonstração", actor="dev")
    await add_member(
        conn, organization_id, email=ADMIN_EMAIL, name="Você", role="admin", password_hash=None, actor="dev"
    )
    for name, email in _AGENTS:
        await add_member(
            conn, organization_id, email=email, name=name, role="agent", password_hash=None, actor="dev"
        )
    await conn.execute(_Q["make_operator"], {"email": ADMIN_EMAIL})
    request = ChannelRequest(
        "zernio", _ACCOUNT, "WhatsApp da loja", _PHONE, "demo-portaria-perfil", keys.channel_secret
    )
    await create_channel(conn, box, organization_id, request, actor="dev")
    return organization_id


async def _form_and_rotation(
    conn: Connection, organization_id: UUID, members: list[DemoMember]
) -> tuple[str, UUID]:
    """The first form and the first rule; made when there is none."""
    [admin] = [m for m in members if m.email == ADMIN_EMAIL]
    principal = Principal(
        admin.user_id, admin.email, admin.name, True, organization_id, "", Role.admin,
        "America/Sao_Paulo", "pt_BR",
    )  # fmt: skip
    forms = await list_forms(conn, organization_id)
    form = forms[0] if forms else await create_form(conn, principal, LeadFormDraft("Fale conosco"))
    rules = await list_rules(conn, organization_id)
    if rules:
        return form.path_token, rules[0].id
    queue = [{"user_id": str(m.user_id), "pausado": False} for m in members if m.role == "agent"]
    draft = {
        "name": "Rodízio dos leads novos",
        "trigger_event": "lead.created",
        "actions": [{"type": "assign_owner", "config": {"modo": "rodizio", "fila": queue}}],
    }
    rule = await create_rule(conn, principal, msgspec.convert(draft, RuleDraft))
    return form.path_token, rule.id


async def _organization(conn: Connection) -> UUID | None:
    row = await (await conn.execute(_Q["demo_organization"], {"email": ADMIN_EMAIL})).fetchone()
    return row[0] if row else None


async def _set_passwords(conn: Connection, keys: DevKeys) -> None:
    hashed = await Passwords().hash(keys.admin_password)
    emails = [ADMIN_EMAIL, *(email for _name, email in _AGENTS)]
    await conn.execute(_Q["set_passwords"], {"emails": emails, "hash": hashed})


async def _set_channel_secret(
    conn: Connection, box: SecretBox, organization_id: UUID, keys: DevKeys
) -> tuple[UUID, str]:
    parameters = {
        "organization_id": organization_id, "account_id": _ACCOUNT,
        "ciphertext": box.encrypt(keys.channel_secret),
    }  # fmt: skip
    [(channel_id, token)] = await (await conn.execute(_Q["set_channel_secret"], parameters)).fetchall()
    return channel_id, token
