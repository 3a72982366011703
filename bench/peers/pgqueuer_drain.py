"""PgQueuer as its documentation shows it: jobs put in by as many senders as ours, drained by one process.

Reads DATABASE_URL, EVENTS and SENDERS; prints the two rates as JSON. Its statistics stay on, as they come.
"""

import asyncio
import json
import os
import time

import asyncpg
import uvloop
from pgqueuer import AsyncpgPoolDriver, Job, PgQueuer, Queries
from pgqueuer.types import QueueExecutionMode


async def main() -> None:
    events, senders = int(os.environ["EVENTS"]), int(os.environ["SENDERS"])
    pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=2, max_size=senders)
    driver = AsyncpgPoolDriver(pool)
    queries = Queries(driver)
    await queries.install()
    numbers = iter(range(events))

    async def sender() -> None:
        for number in numbers:
            await queries.enqueue("nothing", json.dumps({"number": number}).encode())

    began = time.monotonic()
    await asyncio.gather(*(sender() for _ in range(senders)))
    stored = events / (time.monotonic() - began)

    pgq = PgQueuer(driver)

    @pgq.entrypoint("nothing")
    async def nothing(job: Job) -> None:
        return None

    began = time.monotonic()
    await pgq.run(mode=QueueExecutionMode.drain)
    drained = events / (time.monotonic() - began)
    left = await pool.fetchval("SELECT count(*) FROM pgqueuer WHERE status IN ('queued', 'picked')")
    if left:
        raise SystemExit(f"{left} jobs were not done")
    print(json.dumps({"stored": stored, "drained": drained}))
    await pool.close()


if __name__ == "__main__":
    uvloop.run(main())
