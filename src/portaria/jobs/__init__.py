"""The job queue: Procrastinate's tables and fetch loop, with its two weak spots closed (design 2).

**What is authoritative.** The queue only wakes somebody up. Whether there is work to do is decided by
the body's own row, never by the job's status: a job may run twice, at the same time too.

**What may run twice.** The worker of a running job may be killed, frozen or cut off from the database.
Every worker beats every 2 s by the database's clock; a job whose worker has been silent for 10 s is put
back by any other worker, within 15 s of a kill. The one that was only frozen goes on where it was and
ends its run: it finds its row changed, and its late ending of the *job* changes nothing, because every
ending names the run it belongs to (`procrastinate_jobs.attempts`, raised whenever a job comes back).

**What survives which crash.** A job is inserted in the caller's own transaction (or by a trigger) and
leaves the table only when its body returned. A body that raises is put back with a growing delay, for
ever: there is no status in which a job waits for nobody. An ending that the database does not take is
tried until it does. A worker whose database goes away keeps trying to come back; it never ends by that.

    todo ──fetched──▶ doing ──body returned──▶ (deleted)
      ▲                 ├── body raised, or task unknown here: after a delay ──┐
      │                 └── its worker fell silent: at once ───────────────────┤
      └────────────────────────────────────────────────────────────────────────┘

Delayed jobs are found by polling every 0.5 s, new ones by NOTIFY, save those that facts enqueue (queues
`events` and `push`): a NOTIFY would make every such commit wait for the one before it. Each queue has its
own fetch loop in every worker, so that a backlog in one does not hold up another.
"""

from portaria.jobs.queue import Body, Job, Queue, alive, back_off, enqueue
from portaria.jobs.runner import Runner

__all__ = ["Body", "Job", "Queue", "Runner", "alive", "back_off", "enqueue"]
