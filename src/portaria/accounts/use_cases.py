"""Use cases: what an installation does about an event. The shipped registry is empty (spec 3).

An installation adds them as entry points of the group `portaria.use_cases`, named by the event type:

    [project.entry-points."portaria.use_cases"]
    INSTALLMENT_OVERDUE = "my_package:installment_overdue"
"""

import importlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Protocol

import structlog

from portaria.db.pool import Connection

GROUP: Final = "portaria.use_cases"
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Success:
    """The event has taken effect, or needs none. The writes are committed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The event could not take effect now; the writes are rolled back. People read the message."""

    message: str


class UseCase(Protocol):
    """`data` is the envelope's; `transaction` a psycopg connection inside a transaction.

    Write through `transaction` alone, and neither commit nor roll back: the writes are committed
    together with `processed`, or not at all. Raising is a Failure. Numbers with a fraction are Decimal,
    others int. Do not block the event loop, and leave the transaction idle for less than 10 s.
    The same event may be tried again, and events may come out of order: compare versions, not arrival.
    """

    async def __call__(self, data: dict[str, Any], transaction: Connection, /) -> Success | Failure: ...


class UseCases:
    """The registry: `known` by hand, and whatever the installed packages offer.

    A package installed while the worker runs is found by an event of its type, at the latest after
    `look_again_after` seconds; one that changed needs a restart.
    """

    def __init__(
        self,
        known: Mapping[str, UseCase] | None = None,
        *,
        installed: bool = True,
        look_again_after: float = 1.0,
    ) -> None:
        self._known = dict(known or {})
        self._installed = installed
        self._look_again_after = look_again_after
        self._looked_at = float("-inf")

    def resolve(self, event_type: str) -> UseCase | None:
        """The use case for the type, or None. One that cannot be loaded fails with the reason."""
        if event_type not in self._known and self._installed:
            self._look()
        return self._known.get(event_type)

    def _look(self) -> None:
        if time.monotonic() - self._looked_at < self._look_again_after:
            return
        self._looked_at = time.monotonic()
        importlib.invalidate_caches()
        offered: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=GROUP):
            offered.setdefault(point.name, []).append(point)
        for event_type, points in offered.items():
            if event_type not in self._known:
                self._known[event_type] = _load(event_type, points)


def _load(event_type: str, points: list[EntryPoint]) -> UseCase:
    origins = sorted({point.value for point in points})
    if len(origins) > 1:
        return _broken(f"several packages offer a use case for {event_type}: {', '.join(origins)}")
    try:
        loaded: UseCase = points[0].load()
    except Exception as error:
        return _broken(f"the use case {origins[0]} could not be loaded: {error!r}")
    _log.info("use_case_loaded", event_type=event_type, origin=origins[0])
    return loaded


def _broken(why: str) -> UseCase:
    _log.error("use_case_broken", why=why)

    async def fail(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        return Failure(why)

    return fail
