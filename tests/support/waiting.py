"""Waiting on a condition, never on the clock."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object], *, within: float = 10.0) -> None:
    """Waits for `condition` without holding up the event loop; fails after `within` seconds."""
    deadline = asyncio.get_running_loop().time() + within
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not within {within} s"
        await asyncio.sleep(0.01)
