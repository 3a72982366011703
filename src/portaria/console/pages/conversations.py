"""Conversations: the list with what is unread, a thread by the provider's time, reading it."""

from datetime import datetime
from itertools import groupby
from typing import Any, Final

from litestar import Response, get, post
from litestar.response import Redirect

from portaria.console.cursors import read_place, with_query, write_place
from portaria.console.deps import ConsoleDep, Id, Place, Typed, VisitorDep
from portaria.console.page import go, page
from portaria.console.visitor import AnyRequest, Visitor
from portaria.crm.board import search_conversations
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
from portaria.crm.leads import Lead, LeadFilter, list_leads
from portaria.db.pool import Connection
from portaria.errors import Refusal

_AT_ONCE: Final = 30
_MESSAGES: Final = 50


@get("/conversations")
async def show_conversations(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep,
    show: Typed = "all", q: Typed = "", after: Place = None,
) -> Response[str]:  # fmt: skip
    """The list: the latest message first."""
    async with console.tenant(visitor) as conn:
        listed = await _listed(conn, visitor, show, q, after)
    return page(request, visitor, "conversations.html", section="conversations", conversation=None, **listed)


@get("/conversations/{conversation_id:uuid}")
async def show_thread(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, conversation_id: Id,
    show: Typed = "all", q: Typed = "", before: Place = None,
) -> Response[str]:  # fmt: skip
    """The list beside one thread."""
    async with console.tenant(visitor) as conn:
        conversation = await find_conversation(conn, visitor.organization_id, conversation_id)
        messages = await list_messages(
            conn, visitor.organization_id, conversation_id, limit=_MESSAGES + 1, before=_read_before(before)
        )
        leads = await list_leads(
            conn, visitor.principal, limit=3, filter=LeadFilter(contact_id=conversation.contact_id)
        )
        listed = await _listed(conn, visitor, show, q, None)
    thread = _thread(visitor, conversation, messages, leads)
    return page(request, visitor, "conversations.html", section="conversations", **listed, **thread)


@post("/conversations/{conversation_id:uuid}/read", status_code=204)
async def read(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, conversation_id: Id) -> None:
    """Somebody has this thread before their eyes, up to the message with that arrival number."""
    visitor.must("agent")
    through = str((await request.form()).get("through", ""))
    if not through.isdecimal() or len(through) > 19:
        raise Refusal(422, "invalid_request", "`through` is the number of a message.")
    async with console.tenant(visitor) as conn:
        await mark_read(conn, visitor.organization_id, conversation_id, int(through))


@post("/conversations/{conversation_id:uuid}/unblock")
async def unblock(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, conversation_id: Id
) -> Redirect:
    """A person lets the contact be written to again; no message ever does."""
    visitor.must("agent")
    async with console.tenant(visitor) as conn:
        conversation = await find_conversation(conn, visitor.organization_id, conversation_id)
        await unblock_contact(
            conn, visitor.organization_id, conversation.contact_id, actor=visitor.principal.user_id
        )
    return go(f"/conversations/{conversation_id}", "unblocked")


ROUTES = (show_conversations, show_thread, read, unblock)


async def _listed(conn: Connection, visitor: Visitor, show: str, q: str, after: str | None) -> dict[str, Any]:
    show, q = show if show in ("all", "unread") else "all", q.strip()[:100]
    more = None
    if q:
        rows = await search_conversations(conn, visitor.organization_id, q, limit=_AT_ONCE)
    else:
        rows = await list_conversations(
            conn, visitor.organization_id, limit=_AT_ONCE + 1,
            filter=ConversationFilter(unread=show == "unread"), after=read_place(after),
        )  # fmt: skip
        if len(rows) > _AT_ONCE:
            rows = rows[:_AT_ONCE]
            place = write_place(rows[-1].last_message_at, rows[-1].id)
            more = with_query("/conversations", show=show, after=place)
    return {"conversations": rows, "show": show, "q": q, "more": more}


def _thread(
    visitor: Visitor, conversation: Conversation, messages: list[Message], leads: list[Lead]
) -> dict[str, Any]:
    """The messages by day, the oldest first, and how far they reach."""
    older, shown = None, messages[:_MESSAGES]
    if len(messages) > _MESSAGES:
        last = shown[-1]
        older = with_query(
            f"/conversations/{conversation.id}", before=f"{last.sent_at.isoformat()}~{last.arrival}"
        )
    language = visitor.language
    days = [
        (language.day(next_messages[0].sent_at), next_messages)
        for _, group in groupby(reversed(shown), lambda m: language.local(m.sent_at).date())
        if (next_messages := list(group))
    ]
    through = max((m.arrival for m in shown), default=0)
    return {"conversation": conversation, "days": days, "older": older, "through": through, "leads": leads}


def _read_before(text: str | None) -> tuple[datetime, int] | None:
    if not text:
        return None
    at, _, arrival = text.partition("~")
    try:
        moment, number = datetime.fromisoformat(at), int(arrival)
        if moment.tzinfo is None or not 0 <= number < 2**63:
            raise ValueError
    except ValueError:
        raise Refusal(422, "invalid_request", "This is no place of the thread.") from None
    return moment, number
