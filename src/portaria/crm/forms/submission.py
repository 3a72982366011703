"""What a submission says, and the lead it makes."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from portaria.crm.forms.registry import LeadForm
from portaria.crm.leads.change import person
from portaria.crm.phones import typed_phone
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.db.sqlstate import is_retryable_at_once
from portaria.errors import Refusal

_Q = load_queries("portaria.crm.forms")

_EMAIL: Final = re.compile(r"[^\s@]+@[^\s@]+")
_LONGEST: Final = 255
_TRIES: Final = 3

TRAP: Final = "website"
"""The hosted page's hidden field: only a machine fills it in."""


class Invalid(Refusal):
    """422: which fields, and what is wrong with each (`problems`); never their values."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        said = "; ".join(f"{field} {problem}" for field, problem in problems.items())
        super().__init__(422, "invalid_payload", f"{said[:1].upper()}{said[1:]}.")
        self.problems = dict(problems)


@dataclass(frozen=True, slots=True)
class Submission:
    """A person, read from the fields that count; the others are in the archive only."""

    name: str
    phone: str | None
    email: str | None
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class Submitted:
    lead_id: UUID
    contact_id: UUID
    duplicate: bool


def read_submission(fields: Mapping[str, object], region: str, key_header: bytes | None = None) -> Submission:
    """The submission in `fields`; `key_header` is `Idempotency-Key`. Raises `Invalid`."""
    problems: dict[str, str] = {}
    name = _text(fields, "name", problems)
    typed, email = _text(fields, "phone", problems), _text(fields, "email", problems)
    header = {"Idempotency-Key": (key_header or b"").decode("utf-8", "replace")}
    key = _text(fields, "idempotency_key", problems) or _text(header, "Idempotency-Key", problems)
    phone = typed_phone(typed, region) if typed else None
    if name is None:
        problems.setdefault("name", "is required")
    if typed and phone is None:
        problems["phone"] = "needs its area code, or a + and its country's"
    if email and not _EMAIL.fullmatch(email):
        problems["email"] = "is no e-mail address"
    if not typed and not email and not problems.keys() & {"phone", "email"}:
        problems["phone or email"] = "is required"
    if problems or name is None:
        raise Invalid(problems)
    return Submission(name, phone, email, key)


async def submit(conn: Connection, form: LeadForm, row: UUID, submission: Submission) -> Submitted:
    """Contact, lead and the arrival's closing in one transaction; the same key meets its first lead.

    `conn` is in autocommit. Raises what the database raises.
    """
    parameters = {
        "organization_id": form.organization_id, "form_id": form.id, "row": row,
        "key": submission.idempotency_key,
        "person": Jsonb(person(submission.name, submission.phone, submission.email)),
    }  # fmt: skip
    for again in range(_TRIES):
        try:
            [(outcome, lead_id, contact_id)] = await (await conn.execute(_Q["submit"], parameters)).fetchall()
        except Exception as error:
            if again + 1 == _TRIES or not is_retryable_at_once(error):
                raise
        else:
            break
    return Submitted(lead_id, contact_id, duplicate=outcome == "duplicate")


async def close_without_lead(conn: Connection, row: UUID, status: str, note: str) -> None:
    """Closes an arrival that becomes no lead."""
    await conn.execute(_Q["close_without_lead"], {"row": row, "status": status, "note": note})


async def admit(conn: Connection, form: LeadForm, address: str | None, limit: int) -> int:
    """Counts a submission; 0: it may come in, else the seconds to wait. Over IPv6 a network of 64 bits
    counts as one address: it is what one customer is given. Kept as a hash."""
    key = hashlib.sha256(form.id.bytes + _network(address).encode()).digest()
    [(seconds,)] = await (await conn.execute(_Q["admit"], {"key": key, "limit": limit})).fetchall()
    return int(seconds)


def clean(value: str) -> str:
    """Without what PostgreSQL cannot hold: NUL and lone surrogates become U+FFFD, one for one."""
    return re.sub("[\x00\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value)


def _text(fields: Mapping[str, object], name: str, problems: dict[str, str]) -> str | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        problems[name] = "must be text"
        return None
    value = clean(value).strip()
    if len(value) > _LONGEST:
        problems[name] = f"is longer than {_LONGEST} characters"
        return None
    return value or None


def _network(address: str | None) -> str:
    try:
        ip = ip_address(address or "")
    except ValueError:
        return address or ""
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped or IPv6Address(int(ip) >> 64 << 64))
    return str(ip)
