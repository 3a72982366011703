"""What a user is beyond any organization: an operator or not, and the language they read."""

from uuid import UUID

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.acts import record_act
from portaria.identity.wording import clean_locale

_Q = load_queries("portaria.identity")


async def set_operator(conn: Connection, user_id: UUID, *, is_operator: bool, actor: str) -> None:
    """Operators alone see and reprocess what belongs to no organization; audited. Raises a 404 `Refusal`."""
    async with conn.transaction():
        await _update(conn, "set_operator", user_id, is_operator=is_operator)
        await record_act(
            conn, None, "user.operator_set", actor, kind="user", resource_id=user_id, is_operator=is_operator
        )


async def set_locale(conn: Connection, user_id: UUID, locale: str) -> None:
    """The language of the console for this user. Raises a `Refusal`: 404, 422."""
    await _update(conn, "set_locale", user_id, locale=clean_locale(locale))


async def _update(conn: Connection, query: str, user_id: UUID, **values: object) -> None:
    if (await conn.execute(_Q[query], {"user_id": user_id, **values})).rowcount == 0:
        raise Refusal(404, "user_not_found", "There is no such user.")
