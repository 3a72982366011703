"""A push that a user sends to their own browsers, to see whether notifications arrive."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Database
from portaria.db.queries import load_queries
from portaria.ids import uuid7
from portaria.push.courier import Browser, Courier, Delivered
from portaria.push.endpoints import THE_INTERNET, Reach
from portaria.push.vapid import Vapid

_Q = load_queries("portaria.push.greeting")


@dataclass(frozen=True, slots=True)
class Greeted(Browser):
    """A browser, and the words for it: `title` is the body, as in every push."""

    heading: str


class Greeter(Courier):
    """Sends test pushes. `public_key` is what a browser subscribes with."""

    def __init__(self, vapid: Vapid, *, reach: Reach = THE_INTERNET) -> None:
        super().__init__(vapid, reach=reach)
        self.public_key = vapid.public_key

    async def greet(
        self, db: Database, organization_id: UUID, user_id: UUID, *, title: str, body: str
    ) -> int:
        """Tells every browser of the user in this organization; returns how many push services took it.

        A browser that is gone is forgotten, as by any push. `db` with the service's rights.
        """
        browsers = await self._of(db, organization_id, user_id, title, body)
        ended = await asyncio.gather(*(self.push(browser, uuid7()) for browser in browsers))
        gone = [b.id for b, how in zip(browsers, ended, strict=True) if how is Delivered.GONE]
        if gone:
            async with db.connection() as conn:
                await conn.execute(_Q["forget"], {"organization_id": organization_id, "ids": gone})
        return list(ended).count(Delivered.SENT)

    async def _of(
        self, db: Database, organization_id: UUID, user_id: UUID, title: str, body: str
    ) -> list[Greeted]:
        parameters = {
            "organization_id": organization_id, "user_id": user_id, "title": body, "heading": title,
        }  # fmt: skip
        async with db.connection() as conn, conn.cursor(row_factory=class_row(Greeted)) as cursor:
            return await (await cursor.execute(_Q["own_browsers"], parameters)).fetchall()

    def _message(self, browser: Browser, event_id: UUID) -> Mapping[str, str]:
        return {
            "type": "greeting", "tag": str(event_id), "url": "/profile", "body": browser.title,
            "title": browser.heading if isinstance(browser, Greeted) else browser.title,
        }  # fmt: skip
