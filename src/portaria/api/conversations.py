"""Conversations and their messages; marking read; unblocking a contact."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import msgspec
from litestar.params import FromQuery, JSONBody

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.paging import Cursor, Id, Limit, Moment, Page, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import get, post, problems
from portaria.crm.inbox import (
    Conversation,
    ConversationFilter,
    Message,
    find_conversation,
    list_conversations,
    list_messages,
    mark_read,
    unblock_contact,
)
from portaria.identity.principal import Role

_Arrival = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class ReadThrough(msgspec.Struct, forbid_unknown_fields=True):
    """The greatest `arrival` among the messages that were shown."""

    through: _Arrival


@dataclass(frozen=True, slots=True)
class Unread:
    unread_count: int


@dataclass(frozen=True, slots=True)
class Blocked:
    is_blocked: bool


@get("/conversations", role=Role.viewer, tags=["conversations"])
async def list_(
    request: ApiRequest,
    deps: Deps,
    limit: Limit = 50,
    cursor: Cursor = None,
    unread: FromQuery[bool] = False,
    contact_id: FromQuery[UUID | None] = None,
    channel_session_id: FromQuery[UUID | None] = None,
) -> Page[Conversation]:
    """The conversations, the latest message first."""
    after = read_cursor(cursor, tuple[Moment | None, UUID])
    wanted = ConversationFilter(unread, contact_id, channel_session_id)
    async with tenant(deps, request.user) as conn:
        rows = await list_conversations(
            conn, request.user.organization_id, limit=limit + 1, filter=wanted, after=after
        )
    return page(rows, limit, lambda v: (v.last_message_at, v.id))


@get(
    "/conversations/{conversation_id:uuid}", role=Role.viewer, tags=["conversations"], responses=problems(404)
)
async def show(conversation_id: Id, request: ApiRequest, deps: Deps) -> Conversation:
    """One conversation with its contact."""
    async with tenant(deps, request.user) as conn:
        return await find_conversation(conn, request.user.organization_id, conversation_id)


@get(
    "/conversations/{conversation_id:uuid}/messages",
    role=Role.viewer, tags=["conversations"], responses=problems(404),
)  # fmt: skip
async def messages(
    conversation_id: Id, request: ApiRequest, deps: Deps, limit: Limit = 50, cursor: Cursor = None
) -> Page[Message]:
    """The messages by the provider's time, the last one first; a deleted one keeps its text."""
    before = read_cursor(cursor, tuple[Moment, _Arrival])
    organization_id = request.user.organization_id
    async with tenant(deps, request.user) as conn:
        await find_conversation(conn, organization_id, conversation_id)
        rows = await list_messages(conn, organization_id, conversation_id, limit=limit + 1, before=before)
    return page(rows, limit, lambda m: (m.sent_at, m.arrival))


@post(
    "/conversations/{conversation_id:uuid}/read",
    role=Role.agent, tags=["conversations"], responses=problems(404),
)  # fmt: skip
async def read(conversation_id: Id, data: JSONBody[ReadThrough], request: ApiRequest, deps: Deps) -> Unread:
    """Marks read what was shown; what arrives meanwhile stays unread."""
    async with tenant(deps, request.user) as conn:
        return Unread(await mark_read(conn, request.user.organization_id, conversation_id, data.through))


@post("/contacts/{contact_id:uuid}/unblock", role=Role.agent, tags=["conversations"], responses=problems(404))
async def unblock(contact_id: Id, request: ApiRequest, deps: Deps) -> Blocked:
    """Lets a contact who asked to leave be written to again; audited."""
    async with tenant(deps, request.user) as conn:
        await unblock_contact(conn, request.user.organization_id, contact_id, actor=request.user.user_id)
    return Blocked(False)


ROUTES = [list_, show, messages, read, unblock]
