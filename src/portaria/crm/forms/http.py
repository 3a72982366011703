"""The doors of lead forms, as raw ASGI in front of the framework (spec 7).

    POST /api/v1/lead-forms/{token}   JSON: 201; an HTML form: 303, or its page again with what is wrong
    GET  /f/{token}                   the hosted page, and its thanks

Before the archive only method, token, rate, labels and size are looked at. The answer comes after the
lead: an arrival is never replayed by the cron.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import structlog

from portaria.asgi import (
    Answer,
    ClientGone,
    Headers,
    Reading,
    Receive,
    Scope,
    Send,
    check_encoding,
    check_size,
    header_map,
    method_not_allowed,
    read_body,
    refuse,
    respond,
    respond_unread,
    unavailable,
)
from portaria.crm.forms.bodies import Kind, kind_of, read_fields
from portaria.crm.forms.page import page_headers, render, words_for
from portaria.crm.forms.registry import LeadForm, form_by_token
from portaria.crm.forms.submission import TRAP, Invalid, admit, close_without_lead, read_submission, submit
from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.ids import uuid7

log = structlog.get_logger()

PREFIX: Final = "/api/v1/lead-forms/"
PAGE_PREFIX: Final = "/f/"
_SUBMIT: Final = re.compile(r"/api/v1/lead-forms/([^/]+)/?")
_PAGE: Final = re.compile(r"/f/([^/]+)/?")

# Any page may post to a form, as any page may link to it; nothing here rests on cookies.
_ANYWHERE: Final = (b"access-control-allow-origin", b"*")


@dataclass(frozen=True, slots=True)
class FormArrival:
    """What came, byte for byte; `headers` as they came: the archive keeps credentials out."""

    id: UUID
    organization_id: UUID
    headers: Headers
    raw_body: bytes


@dataclass(frozen=True, slots=True)
class LeadForms:
    """Both doors. `archive` returns once the row is durable; whatever it raises is answered 503.

    `rate`: submissions a minute of one address to one form, None for no limit. `refused` counts the 413s
    and 415s. Bytes and seconds.
    """

    db: Database
    archive: Callable[[FormArrival], Awaitable[None]]
    rate: int | None = 30
    body_limit: int = 3 * 1024 * 1024
    header_limit: int = 32 * 1024
    body_within: float = 30.0
    region: str = "BR"
    reading: Reading = field(default_factory=lambda: Reading(32 * 1024 * 1024))
    refused: Callable[[UUID | None, Refusal], None] = lambda organization_id, refusal: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if page := _PAGE.fullmatch(scope["path"]):
            await self._page(page[1], scope, receive, send)
        else:
            await self._submission(scope, receive, send)

    async def _page(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        headers = header_map(scope["headers"])
        try:
            if scope["method"] not in ("GET", "HEAD"):
                raise method_not_allowed("GET, HEAD")
            form = await self._form(token)
        except Refusal as refusal:
            await respond_unread(headers, receive, send, refuse(refusal))
            return
        words = words_for(headers.get(b"accept-language", b"").decode("latin-1"))
        html = render(form, words, sent=scope["query_string"] == b"sent=1")
        await _send_page(send, 200, html, form, body=scope["method"] == "GET")

    async def _submission(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = header_map(scope["headers"])
        form: LeadForm | None = None
        try:
            if scope["method"] == "OPTIONS":
                await _preflight(send)
                return
            form = await self._admitted(scope)
            check_encoding(headers)
            check_size(scope["headers"], header_limit=self.header_limit)
            kind = kind_of(headers.get(b"content-type", b""))
            raw = await read_body(
                headers, receive, limit=self.body_limit, within=self.body_within, reading=self.reading
            )
        except ClientGone:
            return
        except Refusal as refusal:
            if refusal.status in (413, 415):
                self.refused(form.organization_id if form else None, refusal)
            await respond_unread(headers, receive, send, _anywhere(refuse(refusal)))
            return
        # Shielded: a client that hangs up must not leave half a submission behind.
        await asyncio.shield(self._take_in(form, kind, raw, scope, headers, send))

    async def _admitted(self, scope: Scope) -> LeadForm:
        """The form, unless this address sent too much to it. 404, 405, 429, 503."""
        path = _SUBMIT.fullmatch(scope["path"])
        if path is None:
            raise Refusal(404, "not_found", "There is no such route.")
        if scope["method"] != "POST":
            raise method_not_allowed("POST, OPTIONS")
        form = await self._form(path[1])
        if self.rate is not None:
            client = scope.get("client")
            try:
                async with self.db.connection() as conn:
                    wait = await admit(conn, form, client[0] if client else None, self.rate)
            except Exception as error:
                raise _cannot_ask(error) from None
            if wait:
                raise Refusal(429, "too_many", f"Try again in {wait} seconds.", {"Retry-After": str(wait)})
        return form

    async def _form(self, token: str) -> LeadForm:
        try:
            async with self.db.connection() as conn:
                form = await form_by_token(conn, token)
        except Exception as error:
            raise _cannot_ask(error) from None
        if form is None:
            raise Refusal(404, "not_found", "There is no such form.")
        return form

    async def _take_in(
        self, form: LeadForm, kind: Kind, raw: bytes, scope: Scope, headers: Mapping[bytes, bytes], send: Send
    ) -> None:
        """Archive, then read, then lead and closing in one transaction, then the answer."""
        row = uuid7()
        fields: dict[str, object] = {}
        try:
            await self._archived(FormArrival(row, form.organization_id, scope["headers"], raw))
            fields = await self._read(row, kind, headers, raw)
            answer = await self._lead(form, row, kind, headers, fields)
        except Refusal as refusal:
            answer = refuse(refusal)
            browser = kind != "json" and b"text/html" in headers.get(b"accept", b"")
            if browser and isinstance(refusal, Invalid):
                words = words_for(headers.get(b"accept-language", b"").decode("latin-1"))
                html = render(form, words, values=fields, problems=refusal.problems)
                await _send_page(send, 422, html, form)
                return
        await respond(send, _anywhere(answer))

    async def _archived(self, arrival: FormArrival) -> None:
        try:
            await self.archive(arrival)
        except Exception as error:
            log.warning("form_not_archived", error=type(error).__name__)
            raise unavailable("The submission could not be written down.") from None

    async def _read(
        self, row: UUID, kind: Kind, headers: Mapping[bytes, bytes], raw: bytes
    ) -> dict[str, object]:
        try:
            return read_fields(kind, headers.get(b"content-type", b""), raw)
        except Refusal as refusal:
            await self._close(row, "error", refusal.detail)
            raise

    async def _lead(
        self, form: LeadForm, row: UUID, kind: Kind, headers: Mapping[bytes, bytes], fields: dict[str, object]
    ) -> Answer:
        if kind != "json" and fields.get(TRAP):
            # A machine learns nothing; a person can still find the arrival.
            await self._close(row, "processed", "honeypot")
            return _sent(form)
        try:
            submission = read_submission(fields, self.region, headers.get(b"idempotency-key"))
        except Invalid as invalid:
            await self._close(row, "error", invalid.detail)
            raise
        try:
            async with self.db.connection() as conn:
                made = await submit(conn, form, row, submission)
        except Exception as error:
            raise _cannot_ask(error) from None
        if kind != "json":
            return _sent(form)
        document = {
            "lead_id": str(made.lead_id),
            "contact_id": str(made.contact_id),
            "duplicate": made.duplicate,
        }
        return Answer(201, document)

    async def _close(self, row: UUID, status: str, note: str) -> None:
        """Best effort: a row left open is closed as not accepted when its window ends."""
        try:
            async with self.db.connection() as conn:
                await close_without_lead(conn, row, status, note)
        except Exception as error:
            log.warning("form_row_not_closed", row=str(row), error=type(error).__name__)


def _cannot_ask(error: Exception) -> Refusal:
    log.warning("form_database_away", error=type(error).__name__, detail=str(error).partition("\n")[0])
    return unavailable("The database cannot be asked just now.")


def _sent(form: LeadForm) -> Answer:
    """303 to where the business wants it, or to our thanks; never to a place the request names."""
    to = form.success_url or f"{PAGE_PREFIX}{form.path_token}?sent=1"
    return Answer(303, {}, ((b"location", to.encode("ascii")),))


def _anywhere(answer: Answer) -> Answer:
    return Answer(answer.status, answer.document, (*answer.headers, _ANYWHERE))


async def _preflight(send: Send) -> None:
    headers = [
        _ANYWHERE,
        (b"access-control-allow-methods", b"POST"),
        (b"access-control-allow-headers", b"content-type, idempotency-key"),
        (b"access-control-max-age", b"86400"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _send_page(send: Send, status: int, html: str, form: LeadForm, *, body: bool = True) -> None:
    raw = html.encode()
    headers = [*page_headers(form), (b"content-length", b"%d" % len(raw))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": raw if body else b""})
