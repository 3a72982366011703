"""What is sent, and by whom: a pure function of the seed and of where the desks are."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from portaria.intake.providers import samples

Kind = Literal["message", "echo", "outcome", "event", "form"]

TEXTS: Final = ("Olá, tudo bem?", "Quanto custa?", "Vocês abrem sábado?", "Obrigado! 🙂", "cancelem o pedido")
LEAVING: Final = ("SAIR", "Parar.", "não quero mais receber nada de vocês")
_OUT_OF_ORDER: Final = 30
_EPOCH: Final = datetime(2026, 12, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DeskAddress:
    """One organization's doors and what opens them."""

    organization_id: UUID
    channel_path: str
    account_id: str
    secret: str
    form_path: str


@dataclass(frozen=True, slots=True)
class Doors:
    """Everything that a sender must know."""

    desks: tuple[DeskAddress, ...]
    installation_path: str
    installation_secret: str
    events_path: str
    events_token: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event, however often it is sent: `copies` at once, `again` after its answer, and, if its sender
    `persists`, until it is answered 2xx. Whoever `hangs_up` does not wait for the first answer."""

    kind: Kind
    id: str
    organization_id: UUID | None
    phone: str | None
    opts_out: bool
    path: str
    raw: bytes
    headers: dict[str, str]
    copies: int
    again: bool
    persists: bool
    hangs_up: bool


def _is_message(delivery: Delivery) -> bool:
    return delivery.kind == "message" and not delivery.opts_out


BRINGS: Final[dict[str, Callable[[Delivery], bool]]] = {
    **dict.fromkeys(("archive", "mark", "T1", "T3", "claim"), _is_message),
    **dict.fromkeys(("turn", "form", "result", "job", "ending"), lambda d: d.kind == "form"),
    **dict.fromkeys(("receive", "begin", "attempt"), lambda d: d.kind == "event"),
    "T2": lambda d: d.opts_out,
}
"""Which deliveries bring somebody to each step."""


@dataclass(slots=True)
class _Person:
    desk: DeskAddress
    phone: str
    leaver: bool
    wrote: int = 0


def make_world(doors: Doors, events: int, seed: int, *, first: int = 0) -> list[Delivery]:
    """`events` deliveries in the order in which they are sent: the provider's, shuffled a little.

    Ids and people are numbered from `first`, so that one world may follow another.
    """
    rng = random.Random(f"world {seed}")
    made = list(_Story(doors, rng, first, events).tell())
    places = {id(delivery): number + rng.uniform(0, _OUT_OF_ORDER) for number, delivery in enumerate(made)}
    return sorted(made, key=lambda delivery: places[id(delivery)])


class _Story:
    def __init__(self, doors: Doors, rng: random.Random, first: int, events: int) -> None:
        self.doors, self.rng, self.first, self.events = doors, rng, first, events
        self.people: list[_Person] = []
        self.echoes: list[tuple[_Person, str]] = []

    def tell(self) -> Iterator[Delivery]:
        kinds: tuple[Kind, ...] = ("message", "echo", "outcome", "event", "form")
        for number in range(self.first, self.first + self.events):
            [kind] = self.rng.choices(kinds, weights=(62, 5, 3, 15, 15))
            if kind == "outcome" and not self.echoes:
                kind = "echo"
            yield getattr(self, f"_{kind}")(number, _EPOCH + timedelta(milliseconds=10 * number))

    def _message(self, number: int, at: datetime) -> Delivery:
        person = self._somebody()
        leaves = person.leaver or (person.wrote > 0 and self.rng.random() < 0.05)
        text = self.rng.choice(LEAVING if leaves else TEXTS)
        person.wrote += 1
        return self._on_the_channel("message", f"wamid.{number:06d}", person, text, at, opts_out=leaves)

    def _echo(self, number: int, at: datetime) -> Delivery:
        person = self._somebody(leavers=False)
        self.echoes.append((person, f"wamid.{number:06d}"))
        return self._on_the_channel("echo", f"wamid.{number:06d}", person, "Bom dia!", at)

    def _outcome(self, number: int, at: datetime) -> Delivery:
        person, about = self.rng.choice(self.echoes[-20:])
        status: Literal["delivered", "read"] = self.rng.choice(("delivered", "read"))
        body = samples.outcome(status, person.desk.account_id, about, person.phone, at, _thread(person))
        return self._signed("outcome", f"outcome-{number:06d}", person, body)

    def _event(self, number: int, at: datetime) -> Delivery:
        id_ = f"evt-{number:06d}"
        body = {
            "event_id": id_, "event_type": "CRASH_WRITES", "occurred_at": at.isoformat(),
            "data": {"id": id_, "text": self.rng.choice(TEXTS)},
        }  # fmt: skip
        headers = {"authorization": f"Bearer {self.doors.events_token}", "content-type": "application/json"}
        raw, path = json.dumps(body).encode(), self.doors.events_path
        return self._delivery("event", id_, None, None, path, raw, headers)

    def _form(self, number: int, _at: datetime) -> Delivery:
        person = self._somebody(leavers=False, known=0.2)
        id_ = f"form-{number:06d}"
        body = {"name": id_, "phone": person.phone, "email": f"{id_}@exemplo.test", "idempotency_key": id_}
        raw, headers = json.dumps(body).encode(), {"content-type": "application/json"}
        return self._delivery("form", id_, person.desk, person.phone, person.desk.form_path, raw, headers)

    def _on_the_channel(
        self, kind: Kind, id_: str, person: _Person, text: str, at: datetime, *, opts_out: bool = False
    ) -> Delivery:
        build = samples.message_received if kind == "message" else samples.message_sent
        scoped_id = f"BR.{person.phone[1:]}" if int(person.phone) % 2 else None
        body = build(
            person.desk.account_id, id_, person.phone, text, at, "Cliente", _thread(person),
            business_scoped_id=scoped_id,
        )  # fmt: skip
        return self._signed(kind, id_, person, body, opts_out=opts_out)

    def _signed(
        self, kind: Kind, id_: str, person: _Person, body: Any, *, opts_out: bool = False
    ) -> Delivery:
        """By the channel's own URL, or by the one for the whole installation."""
        raw, desk = samples.encode(body), person.desk
        path, secret = desk.channel_path, desk.secret
        if self.rng.random() < 0.25:
            path, secret = self.doors.installation_path, self.doors.installation_secret
        headers = samples.sign(raw, secret)
        return self._delivery(kind, id_, desk, person.phone, path, raw, headers, opts_out=opts_out)

    def _delivery(
        self, kind: Kind, id_: str, desk: DeskAddress | None, phone: str | None, path: str, raw: bytes,
        headers: dict[str, str], *, opts_out: bool = False,
    ) -> Delivery:  # fmt: skip
        [copies] = self.rng.choices((1, 2, 3), weights=(86, 11, 3))
        return Delivery(
            kind, id_, desk.organization_id if desk else None, phone, opts_out, path, raw, headers, copies,
            again=self.rng.random() < 0.08, persists=self.rng.random() < 0.94,
            hangs_up=self.rng.random() < 0.02,
        )  # fmt: skip

    def _somebody(self, *, leavers: bool = True, known: float = 0.5) -> _Person:
        """Somebody who wrote lately, or somebody new; one in twenty of these only ever asks to leave."""
        lately = [p for p in self.people[-60:] if leavers or not p.leaver]
        if lately and self.rng.random() < known:
            return self.rng.choice(lately)
        phone = f"+55119{60_000_000 + self.first + len(self.people):08d}"
        person = _Person(self.rng.choice(self.doors.desks), phone, leavers and self.rng.random() < 0.05)
        self.people.append(person)
        return person


def _thread(person: _Person) -> str:
    return f"thread-{person.phone[1:]}"
