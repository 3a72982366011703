"""A fact's job: load the fact, let its handler react, come back later if that could not be done now."""

from typing import Any, Final, Protocol
from uuid import UUID

import structlog

from portaria.db.pool import Database
from portaria.errors import Operational
from portaria.events.log import Event, find_event
from portaria.jobs import Body, Job, Queue

_log = structlog.get_logger()

# The names the trigger enqueues under (functions/fn_enqueue_event.sql).
RULES_TASK: Final = "portaria.event"
RULES_QUEUE: Final = "events"
PUSH_TASK: Final = "portaria.push"
PUSH_QUEUE: Final = "push"


class TryAgain(Operational):
    """The handler could not react now (a lock is held, a service is down): the job comes back."""


class Handler(Protocol):
    """Reacts to a fact. It may run twice, at the same time too; `comebacks` counts earlier tries."""

    async def __call__(self, db: Database, event: Event, comebacks: int) -> None: ...


async def consume(
    db: Database, handler: Handler, organization_id: UUID, event_id: UUID, comebacks: int = 0
) -> None:
    """Lets `handler` react to the fact. Whatever the handler raises goes on to the queue: a new try."""
    async with db.connection() as conn:
        event = await find_event(conn, organization_id, event_id)
    if event is None:
        _log.warning("event_gone", event_id=str(event_id))
        return
    await handler(db, event, comebacks)


def register(queue: Queue, *, on_fact: Handler, on_assigned: Handler) -> None:
    """The two consumers: rules for the facts that trigger them, the push for `lead.assigned`.

    Each has a queue of its own, so that a slow push service delays no rule.
    """
    queue.register(RULES_TASK, _body(queue.db, on_fact), queue=RULES_QUEUE, again_in=again_in)
    queue.register(PUSH_TASK, _body(queue.db, on_assigned), queue=PUSH_QUEUE, again_in=push_again_in)


def again_in(comebacks: int) -> float:
    """Seconds until rules are tried again: 1, 2, 4 … up to a minute."""
    return min(60.0, 2.0 ** min(comebacks, 6))


def push_again_in(comebacks: int) -> float:
    """Seconds until a push is tried again: 10, 40, 160 …: later, nobody waits for it any more."""
    return 10.0 * 4.0 ** min(comebacks, 3)


def _body(db: Database, handler: Handler) -> Body:
    async def react(job: Job, /, **arguments: Any) -> None:
        organization_id, event_id = UUID(arguments["organization_id"]), UUID(arguments["event_id"])
        await consume(db, handler, organization_id, event_id, job.comebacks)

    return react
