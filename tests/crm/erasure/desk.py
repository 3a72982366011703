"""One person who leaves traces everywhere, through the real doors."""

import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import psycopg

from portaria.identity.sign_in import SignedIn
from portaria.identity.tokens import Tokens
from portaria.intake.providers import samples
from portaria.wiring import secret_box
from tests.console.workbench import FrontDesk
from tests.support.factory import Channel, Factory
from tests.support.http import make_settings

SECRET = "segredo-inventado-zernio-0123456789"


@dataclass
class House:
    """An organization with a channel, a form, an admin and a rule, in front of a running desk."""

    desk: FrontDesk
    owner: psycopg.Connection
    make: Factory
    id: UUID = field(init=False)
    channel: Channel = field(init=False)
    admin: UUID = field(init=False)
    form: str = field(init=False)

    def __post_init__(self) -> None:
        self.id = self.make.organization()
        box = secret_box(make_settings("postgresql://unused/x"))
        self.channel = self.make.channel(
            self.id, phone_number=None, secret=SECRET, secret_ciphertext=box.encrypt(SECRET)
        )
        self.admin = self.make.member(self.id, "Chefe", role="admin")
        self.form = f"formulario-{self.id}"
        self.owner.execute(
            "INSERT INTO lead_forms (organization_id, id, path_token, name)"
            " VALUES (%s, gen_random_uuid(), %s, 'Site')",
            (self.id, self.form),
        )

    def deliver(self, body: dict[str, Any] | bytes, secret: str = SECRET) -> httpx.Response:
        return self.desk.deliver(self.channel.token, secret, body)

    def submit(self, **fields: str) -> httpx.Response:
        """A lead form sent by a browser."""
        url = f"{self.desk.url}/api/v1/lead-forms/{self.form}"
        return httpx.post(url, data=fields, headers={"user-agent": "Navegador de exemplo"})

    def api(self, method: str, path: str, **more: Any) -> httpx.Response:
        """As the admin."""
        token = Tokens(secret_box(make_settings("postgresql://unused/x")), 600).issue(SignedIn(self.admin, 0))
        headers = {"Authorization": f"Bearer {token}", "X-Organization-Id": str(self.id)}
        return httpx.request(method, f"{self.desk.url}/api/v1{path}", headers=headers, **more)

    def rows(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        return self.owner.execute(query, params or None).fetchall()

    def one(self, query: str, *params: object) -> Any:
        """The only value of the only row."""
        [(value,)] = self.rows(query, *params)
        return value

    def contact_of(self, phone: str) -> UUID:
        return UUID(str(self.one("SELECT id FROM contacts WHERE phone_number = %s", phone)))

    def settled(self) -> None:
        """Every accepted message is in, and every job done."""
        until(lambda: not self.one("SELECT count(*) FROM webhook_events_log WHERE status = 'received'"))
        until(lambda: not self.one("SELECT count(*) FROM procrastinate_jobs"))


def until(condition: Callable[[], object], within: float = 20.0) -> None:
    ends = time.monotonic() + within
    while not condition():
        assert time.monotonic() < ends, f"not within {within} s"
        time.sleep(0.02)


@dataclass
class Person:
    """Somebody whose every word can be told apart; `n` tells people apart."""

    n: int
    sent: int = 0

    @property
    def phone(self) -> str:
        return f"+5511987{self.n:06d}"

    @property
    def scoped_id(self) -> str:
        return f"BR.9{self.n:019d}"

    @property
    def thread(self) -> str:
        return f"68a1f0c2d3b4e5f6{self.n:08x}"

    def external_id(self, n: int) -> str:
        """As WhatsApp makes them: the phone is in it, in base64."""
        return f"wamid.{b64encode(f'{self.phone[1:]}.{n}'.encode()).decode()}"

    def word(self, what: str) -> str:
        """A word of theirs, with an accent, that stands nowhere else."""
        return f"Plantã{what}{self.n}x"

    def message(self, house: House, text: str, **more: Any) -> dict[str, Any]:
        """A new message of theirs."""
        self.sent += 1
        given: dict[str, Any] = {
            "external_id": self.external_id(self.sent), "phone": self.phone, "text": text,
            "sent_at": datetime.now(UTC) + timedelta(seconds=self.sent), "name": self.word("nome"),
            "conversation_id": self.thread, "business_scoped_id": self.scoped_id,
            "username": self.word("usuario").lower(),
        } | more  # fmt: skip
        return samples.message_received(house.channel.account_id, **given)
