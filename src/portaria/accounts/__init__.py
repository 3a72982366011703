"""What the accounts service tells us: written down before it is answered, then acted upon (spec 3, R-010).

**The 202 is a promise.** The event's row and its job are one statement, so there is never a pending
event without a job. A known `event_id` is answered 200 and writes nothing. The sender gives up at its
third failed try: whatever is refused for another reason than its content is counted, logged at once,
and told to people as soon as the database answers.

**What is authoritative.** The row: `status` and `attempts`. A job carries the `attempts` it starts from,
and does nothing if the row differs. An attempt begins with a note in the row, committed by itself
(`attempt_job`, the queue's number of the job), and ends by one of two updates that name the note:

- the use case's writes and `processed` in one transaction;
- the failure, with the next attempt's job or the notice, in one statement outside it.

**What may happen in between.** The worker is killed: the queue brings the same job back, which finds its
own note, spends the attempt as a failure and schedules the next. The worker was only frozen: when it
goes on, its use case ends with an update that finds the note gone, and is rolled back. The database goes
away: the failure is written when it answers. Two jobs for one event: the second finds the first one's
note, sees that job still in the queue, and ends without a trace.

    (nothing) ──202──▶ pending ──Success──────────────────────▶ processed
                         │ ▲ └──failure, attempts < 3: + 1 ──┐      │ only singly, with force
                         │ └─────────────5 s later───────────┘      │
                         └──failure at attempts = 2──▶ failed       │
                         ▲                               │          │
                         └──────────reprocess────────────┴──────────┘
"""
