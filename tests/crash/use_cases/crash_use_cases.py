"""What the installation under test does about an event: it writes once, and fails now and then."""

import asyncio
import random

from portaria.accounts.use_cases import Failure, Success
from portaria.db.pool import Connection


async def write(data: dict[str, str], transaction: Connection, /) -> Success | Failure:
    trouble = random.random()
    if trouble < 0.02:
        return Failure("some trouble of the use case's own")
    await transaction.execute("INSERT INTO crash.effects (event_id) VALUES (%s)", (data["id"],))
    if trouble < 0.04:
        raise LookupError("some trouble after its writes")
    await asyncio.sleep(0.01)
    return Success()
