"""Web Push for `lead.assigned`: to each browser of the new owner, within seconds or not at all."""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol
from uuid import UUID

import httpx
import structlog
from psycopg.rows import class_row

from portaria.db.pool import Database
from portaria.db.queries import load_queries
from portaria.errors import Operational
from portaria.push.endpoints import THE_INTERNET, EndpointRefused, Reach
from portaria.push.sealing import sealed
from portaria.push.vapid import Vapid

_Q = load_queries("portaria.push")
log = structlog.get_logger()

PATIENCE: Final = 5.0
"""Seconds a push service has, from the name's resolution to its answer."""

TRIES: Final = 4
STALE: Final = timedelta(hours=1)
"""Later, nobody waits to be told."""

_KEEP: Final = 3600
_TITLE: Final = 120
_SAID: Final = {"pt_BR": "Novo lead para você", "en": "New lead for you"}


class Delivered(StrEnum):
    """How a push to one browser ended."""

    SENT = "sent"
    GONE = "gone"
    LATER = "later"
    REFUSED = "refused"


class PushLater(Operational):
    """A push service was slow or down: the browsers it keeps from being told are tried again."""


class Fact(Protocol):
    """An event, as far as a push is concerned."""

    @property
    def organization_id(self) -> UUID: ...
    @property
    def id(self) -> UUID: ...
    @property
    def entity_id(self) -> UUID: ...
    @property
    def payload(self) -> dict[str, object]: ...
    @property
    def metadata(self) -> dict[str, object]: ...
    @property
    def created_at(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser to tell, and what of."""

    id: UUID
    endpoint: str
    p256dh: str
    auth: str
    lead_id: UUID
    title: str
    locale: str


class Courier:
    """Sends pushes. `lead_url`: a lead's page, with `{id}` in it."""

    def __init__(
        self, vapid: Vapid, *, reach: Reach = THE_INTERNET, lead_url: str = "/console/leads/{id}"
    ) -> None:
        self._vapid, self._reach, self._lead_url = vapid, reach, lead_url
        # No connection is kept: two services may share an address, and TLS speaks to one of them.
        self._client = httpx.AsyncClient(
            timeout=PATIENCE, follow_redirects=False, trust_env=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )  # fmt: skip

    async def close(self) -> None:
        await self._client.aclose()

    async def tell_owner(self, db: Database, event: Fact, comebacks: int = 0) -> None:
        """Tells the browsers of the new owner, all at once, unless the lead is no longer theirs, or they
        took it themselves. Raises `PushLater` for those to be tried again, at most three times.
        """
        owner = event.payload.get("owner_user_id")
        if event.metadata.get("actor") == owner:
            return
        browsers = await self._waiting(db, event, owner)
        ended = await asyncio.gather(*(self._tell(db, event, browser) for browser in browsers))
        if Delivered.LATER in ended and comebacks + 1 < TRIES:
            raise PushLater(f"{ended.count(Delivered.LATER)} of {len(ended)} browsers")

    async def _waiting(self, db: Database, event: Fact, owner: object) -> list[Browser]:
        async with db.connection() as conn, conn.cursor(row_factory=class_row(Browser)) as cursor:
            await cursor.execute(
                _Q["waiting_browsers"],
                {
                    "organization_id": event.organization_id, "event_id": event.id,
                    "lead_id": event.entity_id, "owner": owner, "created_at": event.created_at,
                    "stale": STALE,
                },
            )  # fmt: skip
            return await cursor.fetchall()

    async def _tell(self, db: Database, event: Fact, browser: Browser) -> Delivered:
        """One browser; its trouble is its own."""
        try:
            ended = await self.push(browser, event.id)
        except Exception as error:
            # The error's text holds the address, which is a key to the browser.
            log.warning("push_broken", subscription=str(browser.id), error=type(error).__name__)
            ended = Delivered.REFUSED
        key = {"organization_id": event.organization_id, "id": browser.id, "event_id": event.id}
        if ended in (Delivered.SENT, Delivered.GONE):
            async with db.connection() as conn:
                await conn.execute(_Q["delivered" if ended is Delivered.SENT else "forget"], key)
        log.info("push", subscription=str(browser.id), event_id=str(event.id), ended=ended.value)
        return ended

    async def push(self, browser: Browser, event_id: UUID) -> Delivered:
        """Hands one encrypted message to the browser's push service, within `PATIENCE`."""
        try:
            body = sealed(
                self._message(browser, event_id),
                endpoint=browser.endpoint, p256dh=browser.p256dh, auth=browser.auth,
            )  # fmt: skip
            async with asyncio.timeout(PATIENCE):
                target = await self._reach.resolve(browser.endpoint)
                request = self._client.stream(
                    "POST", target.url, content=body, headers=self._headers(browser, event_id, target.host),
                    extensions={"sni_hostname": target.server_name},
                )  # fmt: skip
                async with request as response:
                    return _ending(response.status_code)
        except (EndpointRefused, ValueError):
            return Delivered.GONE
        except (httpx.HTTPError, OSError, TimeoutError):
            return Delivered.LATER

    def _headers(self, browser: Browser, event_id: UUID, host: str) -> dict[str, str]:
        return {
            "Host": host,
            "Authorization": self._vapid.authorization(browser.endpoint),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(_KEEP),
            "Urgency": "high",
            # Told again before the first was shown: the service keeps one.
            "Topic": base64.urlsafe_b64encode(event_id.bytes).rstrip(b"=").decode(),
        }

    def _message(self, browser: Browser, event_id: UUID) -> Mapping[str, str]:
        return {
            "type": "lead.assigned", "tag": str(event_id), "lead_id": str(browser.lead_id),
            "url": self._lead_url.format(id=browser.lead_id),
            "title": _SAID.get(browser.locale, _SAID["pt_BR"]), "body": browser.title[:_TITLE],
        }  # fmt: skip


def _ending(status: int) -> Delivered:
    if 200 <= status < 300:
        return Delivered.SENT
    if status in (404, 410):
        return Delivered.GONE
    if status == 429 or status >= 500:
        return Delivered.LATER
    return Delivered.REFUSED
