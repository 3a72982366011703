"""The route of the accounts service, as raw ASGI in front of the framework (spec 3).

In this order: method, 401 before the body is read, content encoding, 413, signature, 422, then the
database: 202 or 200, and 503 when it cannot be asked in time.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from portaria.accounts.credentials import Signatures, Tokens
from portaria.accounts.lost import LostDeliveries
from portaria.accounts.receive import receive_event
from portaria.asgi import (
    Answer,
    ClientGone,
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
from portaria.db.pool import Database, in_time
from portaria.db.sqlstate import is_infrastructure
from portaria.errors import Refusal
from portaria.telemetry import INCOMING_EVENT_ANSWERS

PREFIX: Final = "/api/v1/incoming_events"
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class EventLimits:
    """Bytes of a body, of headers and of all bodies held at once; seconds to send one in, and to answer."""

    body: int = 3 * 1024 * 1024
    headers: int = 32 * 1024
    held: int = 64 * 1024 * 1024
    body_within: float = 30.0
    answer_within: float = 3.6


class IncomingEvents:
    """The ASGI callable for `POST /api/v1/incoming_events`, with or without a slash at the end."""

    def __init__(
        self,
        db: Database,
        *,
        tokens: Tokens,
        signatures: Signatures,
        lost: LostDeliveries,
        limits: EventLimits = EventLimits(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._db, self._tokens, self._signatures, self._lost = db, tokens, signatures, lost
        self._limits, self._clock = limits, clock
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = header_map(scope["headers"])
        try:
            self._admit(scope, headers)
            raw = await self._read(headers, receive)
        except ClientGone:
            return
        except Refusal as refusal:
            await respond_unread(headers, receive, send, self._refused(refusal))
            return
        try:
            answer = await self._take_in(scope, raw)
            INCOMING_EVENT_ANSWERS.labels(str(answer.status)).inc()
        except Refusal as refusal:
            answer = self._refused(refusal)
        finally:
            self._held -= len(raw)
        await respond(send, answer)

    def _admit(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        """Who asks, and for what: everything that is known before the body. 404, 405, 401, 415, 431."""
        if scope["path"].removesuffix("/") != PREFIX:
            raise Refusal(404, "not_found", "There is no such route.")
        if scope["method"] != "POST":
            raise method_not_allowed("POST")
        if not self._tokens.match(scope["headers"]):
            challenge = {"WWW-Authenticate": "Bearer"}
            raise Refusal(401, "unauthorized", "A Bearer token of this endpoint is required.", challenge)
        check_encoding(headers)
        check_size(scope["headers"], header_limit=self._limits.headers)

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        if self._held > self._limits.held:
            raise unavailable("Too many events are arriving at once.", 2)
        raw = await read_body(headers, receive, limit=self._limits.body, within=self._limits.body_within)
        self._held += len(raw)
        return raw

    async def _take_in(self, scope: Scope, raw: bytes) -> Answer:
        if self._signatures.on and not self._signatures.match(scope["headers"], raw, self._clock()):
            raise Refusal(
                401, "invalid_signature", "The body is not signed, or not by this endpoint's secret."
            )
        try:
            received = await in_time(receive_event(self._db, raw), self._limits.answer_within)
        except Refusal:
            raise
        except TimeoutError:
            raise unavailable("The database did not answer in time.", 2) from None
        except Exception as error:
            raise _not_stored(error) from None
        return Answer(received.value, {"status": received.name})

    def _refused(self, refusal: Refusal) -> Answer:
        INCOMING_EVENT_ANSWERS.labels(str(refusal.status)).inc()
        _log.info("incoming_event_refused", status=refusal.status, code=refusal.code, detail=refusal.detail)
        self._lost.note(refusal)
        return refuse(refusal)


def _not_stored(error: Exception) -> Refusal:
    """The infrastructure's failures are 503; anything else is a bug: 500, logged with its trace."""
    if is_infrastructure(error):
        _log.warning("incoming_event_not_stored", error=repr(error))
        return unavailable("The database cannot be asked just now.", 2)
    _log.error("incoming_event_not_stored", exc_info=error)
    return Refusal(500, "internal_error", "The event could not be stored.")
