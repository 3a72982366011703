"""The intake's two routes, as raw ASGI in front of the framework (spec 2.1, 2.2).

Before the archive only method, path token, size and content encoding are looked at; after it the
first row of the table that matches decides the answer and what becomes of the row.
"""

import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Final
from uuid import UUID

import msgspec
import structlog
from prometheus_client import Counter

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
from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.ids import uuid7
from portaria.intake.accepted import AcceptedRow, describe
from portaria.intake.archive import Acceptance, Arrival, kept_headers
from portaria.intake.backlog import Backlog
from portaria.intake.first_attempt import FirstAttempts
from portaria.intake.group_commit import GroupCommit, Unavailable
from portaria.intake.overview.minutes import Outcome, outcome_of
from portaria.intake.pressure import TOO_MUCH, Pressure
from portaria.intake.refusals import RefusalNotices
from portaria.intake.sessions import Secrets, Session, SessionDirectory
from portaria.intake.settle import settle
from portaria.intake.verdict import NewMessageArrived, Verdict, judge
from portaria.telemetry import ANSWER_SECONDS, ANSWERS

PREFIX: Final = "/api/v1/webhooks/"
_CHANNEL: Final = re.compile(r"/api/v1/webhooks/channel/([^/]*)/?")
_INSTALLATION: Final = re.compile(r"/api/v1/webhooks/canal-da-instalacao/?")
_TOKEN_LENGTHS: Final = range(8, 256)
_AT_LEAST: Final = 1.0
"""Seconds for what follows a slow archive, so that its row is not left open."""
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes and seconds: of a body, of the headers, to send a body in, to answer within."""

    body: int
    headers: int
    body_within: float
    answer_within: float


@dataclass(frozen=True, slots=True)
class Intake:
    """The ASGI callable for everything below `/api/v1/webhooks/`.

    `note` is told of each answer: whose it was, what it came to, and the seconds since the request's head.
    """

    db: Database
    directory: SessionDirectory
    archive: GroupCommit[Arrival]
    accept: GroupCommit[Acceptance]
    first_attempts: FirstAttempts
    backlog: Backlog
    installation: Secrets
    refusals: RefusalNotices
    limits: Limits
    pressure: Pressure
    note: Callable[[UUID | None, Outcome, float], None]
    reading: Reading = field(default_factory=lambda: Reading(64 * 1024 * 1024))

    @asynccontextmanager
    async def running(self, grace: float) -> AsyncIterator[None]:
        """Its loops. At the end first attempts get `grace` seconds; then nothing more is written."""
        loops = (self.archive, self.accept, self.directory, self.backlog, self.pressure)
        self.first_attempts.start()
        for loop in loops:
            loop.start()
        try:
            yield
        finally:
            await self.first_attempts.stop(grace)
            await self.refusals.stop()
            for loop in loops:
                await loop.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()
        headers = header_map(scope["headers"])
        session: Session | None = None
        try:
            session = await self._route(scope)
            raw = await self._read(scope["headers"], headers, receive)
        except ClientGone:
            return
        except Refusal as refusal:
            if refusal.status in (413, 415):
                self.refusals.count(session.organization_id if session else None, refusal)
            answer = refuse(refusal)
            self._count(answer, session, began)
            await respond_unread(headers, receive, send, answer)
            return
        started = time.monotonic()
        answer, owner = await self._answer(session, raw, scope["headers"], headers, started)
        ANSWER_SECONDS.observe(time.monotonic() - started)
        self._count(answer, owner, began)
        await respond(send, answer)

    def _count(self, answer: Answer, owner: Session | None, began: float) -> None:
        said = answer.document
        _counter(str(said.get("code", said.get("status")))).inc()
        organization_id = None if owner is None else owner.organization_id
        self.note(organization_id, outcome_of(answer), time.monotonic() - began)

    async def _answer(
        self,
        session: Session | None,
        raw: bytes,
        all_headers: Headers,
        headers: Mapping[bytes, bytes],
        started: float,
    ) -> tuple[Answer, Session | None]:
        """The answer to a delivery that was read, and whose it is as far as is known; refused at once when
        this process could not keep up.
        """
        if not self.pressure.admits():
            return refuse(TOO_MUCH), session
        row, done = uuid7(), False
        owner = session
        self.pressure.begin()
        try:
            verdict, ends = await self._take_in(row, session, raw, all_headers, headers, started)
            owner = getattr(verdict, "session", None) or session
            if isinstance(verdict, NewMessageArrived):
                answer = await self._accept(row, verdict.session, raw, ends)
            else:
                answer = await settle(self.db, row, verdict, raw, within=ends - time.monotonic())
            done = True
            return answer, owner
        except Refusal as refusal:
            log.info("webhook_refused", row=str(row), status=refusal.status, code=refusal.code)
            done = refusal.status != 503
            return refuse(refusal), owner
        finally:
            self.pressure.end(answered=done)

    async def _route(self, scope: Scope) -> Session | None:
        """The session of a channel's own URL, None for the installation's. 405, 404, 503."""
        path = scope["path"]
        channel = _CHANNEL.fullmatch(path)
        if channel is None and not _INSTALLATION.fullmatch(path):
            raise Refusal(404, "not_found", "There is no such route.")
        if scope["method"] != "POST":
            raise method_not_allowed("POST")
        if channel is None:
            return None
        if len(channel[1]) not in _TOKEN_LENGTHS:
            raise Refusal(404, "not_found", "There is no such channel.")
        try:
            session = await self.directory.by_token(channel[1], within=self.limits.answer_within)
        except Exception as error:
            log.warning("session_unknown", error=describe(error))
            raise unavailable("The database cannot be asked just now.") from None
        if session is None:
            raise Refusal(404, "not_found", "There is no such channel.")
        return session

    async def _read(self, all_headers: Headers, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        check_encoding(headers)
        check_size(all_headers, header_limit=self.limits.headers)
        return await read_body(
            headers, receive, limit=self.limits.body, within=self.limits.body_within, reading=self.reading
        )

    async def _take_in(
        self,
        row: UUID,
        session: Session | None,
        raw: bytes,
        all_headers: Headers,
        headers: Mapping[bytes, bytes],
        started: float,
    ) -> tuple[Verdict, float]:
        """Archives, then judges; until when to accept or settle. A 200 is a promise: durable and accepted."""
        arrival = Arrival(
            id=row,
            provider="zernio" if session is None else session.provider,
            organization_id=None if session is None else session.organization_id,
            channel_session_id=None if session is None else session.id,
            headers=msgspec.json.encode(kept_headers(all_headers)).decode(),
            raw_body=raw,
        )
        ends = started + self.limits.answer_within
        try:
            await self.archive.submit(arrival, size=len(raw), within=ends - time.monotonic())
        except Unavailable as error:
            raise unavailable(str(error)) from None
        ends = max(ends, time.monotonic() + _AT_LEAST)
        return await self._judge(session, raw, headers, ends - time.monotonic()), ends

    async def _judge(
        self, session: Session | None, raw: bytes, headers: Mapping[bytes, bytes], within: float
    ) -> Verdict:
        try:
            return await judge(self.directory, session, self.installation, raw, headers, within=within)
        except Exception as error:
            log.warning("not_judged", error=describe(error))
            raise unavailable("The database cannot be asked just now.") from None

    async def _accept(self, row: UUID, session: Session, raw: bytes, ends: float) -> Answer:
        """Marks the row and schedules its first attempt before the 200 is returned (spec 2.2)."""
        if self.backlog.full:
            raise unavailable("Too many messages wait for their first attempt.", 60)
        mark = Acceptance(row, session.organization_id, session.id)
        try:
            marked = await self.accept.submit(mark, size=0, within=ends - time.monotonic())
        except Unavailable as error:
            raise unavailable(str(error)) from None
        if not marked:
            raise unavailable("The delivery was not marked as accepted.")
        self.first_attempts.schedule(
            AcceptedRow(row, session.organization_id, session.id, session.provider, raw)
        )
        return Answer(200, {"status": "accepted", "id": str(row)})


@cache
def _counter(outcome: str) -> Counter:
    """The outcomes are few and ours; looking a label up costs more than counting."""
    return ANSWERS.labels("channel", outcome)
