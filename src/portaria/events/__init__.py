"""Facts that others react to, and how they reach whoever reacts.

**What is authoritative.** `event_log`. A fact is a row there, written in the transaction that made it
true: by a trigger where SQL knows best (a lead's facts), else by `emit`. Nobody changes a fact.

**How it travels.** One trigger on `event_log` (functions/fn_enqueue_event.sql) enqueues a job at the end
of that same transaction, and only for a fact with a consumer. So there is no fact without its job, no job
for a fact that was rolled back, and no cost for facts that nobody waits for.

**What may run twice.** A consumer: its worker may die after the work and before the job's end. Each one
is written so that the second run finds the first one's rows and has no effect of its own.
"""

from portaria.events.consume import Handler, TryAgain, consume, register
from portaria.events.log import Event, emit, find_event, list_events

__all__ = ["Event", "Handler", "TryAgain", "consume", "emit", "find_event", "list_events", "register"]
