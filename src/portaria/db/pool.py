"""Connections: autocommit from a pool, explicit transactions, a tenant's view (design 4)."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any, TypeVar
from uuid import UUID

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from portaria.db.queries import load_queries

Connection = AsyncConnection[TupleRow]
_T = TypeVar("_T")
_endings: set["asyncio.Task[None]"] = set()

# A transaction of ours that sits idle is a frozen process holding locks: the server ends it.
_GUARDS = "-c idle_in_transaction_session_timeout=10s"


def connection_options(url: str, name: str, *, statement_timeout: float | None = None) -> dict[str, Any]:
    """Keyword arguments for every connection of ours. `statement_timeout` in seconds."""
    options = _GUARDS
    if statement_timeout is not None:
        options += f" -c statement_timeout={int(statement_timeout * 1000)}"
    return {
        "conninfo": url,
        "autocommit": True,
        # Server-side prepared statements break behind a transaction pooler; ours are few and short.
        "prepare_threshold": None,
        "connect_timeout": 3,
        "application_name": name,
        "options": options,
        # A peer that vanished is noticed within about 10 s, not within hours.
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
    }


def patience(statement_timeout: float | None) -> float:
    """Seconds after which a server that says nothing about a statement is taken for lost."""
    return (60.0 if statement_timeout is None else statement_timeout) + 10.0


class _Listening(AsyncConnection[TupleRow]):
    """Ends when the server is silent for longer than it would let a statement run.

    A server that is frozen, or a proxy that hangs, answers for the network and for nothing else: no
    keepalive notices, and whoever waits would wait for ever.
    """

    patience: float = patience(None)

    @classmethod
    def within(cls, statement_timeout: float | None) -> "type[_Listening]":
        return type(cls.__name__, (cls,), {"patience": patience(statement_timeout)})

    async def wait(self, *args: Any, **more: Any) -> Any:
        timer = asyncio.get_running_loop().call_later(self.patience, self._hang_up)
        try:
            return await super().wait(*args, **more)
        finally:
            timer.cancel()

    def _hang_up(self) -> None:
        """Wakes whoever waits for an answer; waiting for a notification is no such thing."""
        if not self.closed and self.pgconn.transaction_status == TransactionStatus.ACTIVE:
            with socket.socket(fileno=os.dup(self.pgconn.socket)) as line, suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


async def connect(url: str, name: str, *, statement_timeout: float | None = None) -> Connection:
    """A connection of one's own, outside any pool."""
    kind = _Listening.within(statement_timeout)
    return await kind.connect(**connection_options(url, name, statement_timeout=statement_timeout))


class _Pool(AsyncConnectionPool[Connection]):
    """Gives out connections that the server has not ended.

    Not by the pool's own `check`, which waits 1, 2, 4 seconds between one ended connection and the next:
    after a restart of the database all of them are, and a caller's time would be over before a live one came.

    A session that began while the database was set read-only stays so: it is not used again.
    """

    async def getconn(self, timeout: float | None = None) -> Connection:
        deadline = monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            conn = await super().getconn(deadline - monotonic())
            try:
                _check(conn)
            except OperationalError:
                await conn.close()
                await self.putconn(conn)
            else:
                return conn

    @asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncIterator[Connection]:
        async with super().connection(timeout) as conn:
            try:
                yield conn
            except ReadOnlySqlTransaction:
                await conn.close()
                raise


class Database:
    """A pool of autocommit connections to one database.

    `timeout` is how long a caller waits for a connection (seconds) before `psycopg_pool.PoolTimeout`.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        size: int,
        timeout: float = 5.0,
        statement_timeout: float | None = 30.0,
        service_role: bool = False,
    ) -> None:
        options = connection_options(url, name, statement_timeout=statement_timeout)
        if service_role:
            # A one-shot command given the owner's URL works with the service's rights alone (spec 7).
            options["options"] += " -c role=service_role"
        self.url = url
        self._pool = _Pool(
            options.pop("conninfo"),
            connection_class=_Listening.within(statement_timeout),
            kwargs=options,
            min_size=min(1, size),
            max_size=size,
            timeout=timeout,
            open=False,
            reconnect_timeout=5.0,
            name=name,
        )

    async def open(self) -> None:
        """Starts the pool without waiting for the server: a database that is down must not stop a start."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        await self._pool.close()

    @property
    def pool(self) -> AsyncConnectionPool[Connection]:
        """The pool itself, for the libraries that bring their own queries (the job queue)."""
        return self._pool

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection in autocommit, with the service's rights."""
        async with self._pool.connection() as conn:
            yield conn

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One transaction with the service's rights; commits at the end, rolls back on any error."""
        async with self._pool.connection() as conn, conn.transaction():
            yield conn

    @asynccontextmanager
    async def tenant(self, organization_id: UUID, *, operator: bool = False) -> AsyncIterator[Connection]:
        """One transaction that sees `organization_id`'s rows alone, as the role `authenticated`.

        `operator`: also the rows that belong to no organization. Without parallel workers: a page's queries
        are short, and for one that a policy keeps from being folded they would be started to read nothing.
        """
        async with self._pool.connection() as conn, conn.transaction():
            await conn.execute("SET LOCAL ROLE authenticated")
            await conn.execute(
                "SELECT set_config('portaria.organization_id', %s, true),"
                " set_config('portaria.is_operator', %s, true),"
                " set_config('max_parallel_workers_per_gather', '0', true)",
                (str(organization_id), "on" if operator else "off"),
            )
            yield conn

    async def is_owner(self, conn: Connection) -> bool:
        """Whether `conn`'s login is a superuser or owns the tables."""
        row = await (await conn.execute(load_queries("portaria.db")["is_owner"])).fetchone()
        return row is not None and bool(row[0])


def _check(conn: Connection) -> None:
    """Raises for a connection that the server ended: its last words and the end lie in our socket.

    No round trip, which every use of the pool would pay for; a server that is merely silent shows no
    sooner in one.
    """
    for _words_then_end in range(2):
        conn.pgconn.consume_input()


async def in_time(
    work: Coroutine[Any, Any, _T],
    seconds: float,
    *,
    afterwards: Callable[[], Awaitable[None]] | None = None,
) -> _T:
    """The result of `work`, or TimeoutError after `seconds`.

    Not `asyncio.timeout`: a query that is cancelled first asks the server to stop, for up to 10 s, and
    the server may be what does not answer. Late work is cancelled and comes to its end by itself;
    `afterwards` is awaited then.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        on_time = task.done()
        if not on_time:
            task.cancel()
            ending = asyncio.create_task(_end(task, afterwards))
            _endings.add(ending)
            ending.add_done_callback(_endings.discard)
    if not on_time:
        raise TimeoutError
    return task.result()


async def _end(task: "asyncio.Task[Any]", afterwards: Callable[[], Awaitable[None]] | None) -> None:
    await asyncio.gather(task, return_exceptions=True)
    if afterwards is not None:
        await afterwards()
