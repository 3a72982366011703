"""Whatever a use case does wrong spends one attempt, leaves nothing behind, and the worker goes on."""

import asyncio
import socket
from typing import Any

import psycopg
import pytest

from portaria.accounts.process import Outcome
from portaria.accounts.use_cases import Failure, Success, UseCase
from portaria.db.pool import Connection
from tests.accounts.workbench import REFUSE, Bench, succeed, write


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raising(error: BaseException) -> UseCase:
    async def use_case(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        await write(transaction)
        raise error

    return use_case


async def divide(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    await transaction.execute("SELECT 1 / 0")
    return Success()


async def swallow(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    with pytest.raises(psycopg.errors.DivisionByZero):
        await transaction.execute("SELECT 1 / 0")
    return Success()


async def commit_itself(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    await transaction.commit()
    return Success()


async def say_commit(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    await transaction.execute("COMMIT")
    return Success()


async def hang_up(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    await transaction.close()
    return Success()


async def forget(data: dict[str, Any], transaction: Connection, /) -> Any:
    await write(transaction)


def not_async(data: dict[str, Any], transaction: Connection, /) -> Any:
    return Success()


BREAKING: dict[str, tuple[Any, str]] = {
    "name resolution (F12)": (raising(socket.gaierror(-2, "Name or service not known")), "gaierror"),
    "lost connection": (raising(psycopg.OperationalError("server closed the connection")), "server closed"),
    "serialization failure": (raising(psycopg.errors.SerializationFailure("again")), "SerializationFailure"),
    "exit": (raising(SystemExit(3)), "SystemExit: 3"),
    "cancelled from within": (raising(asyncio.CancelledError()), "cancelled from within"),
    "an error without words": (raising(Unspeakable()), "Unspeakable"),
    "words that cannot be stored": (raising(ValueError("a\x00b\ud800" + "x" * 9_000)), "a\ufffdb\ufffd"),
    "its own timeout": (raising(TimeoutError("of an API")), "TimeoutError: of an API"),
    "a database error": (divide, "division by zero"),
    "a broken transaction": (swallow, "left it broken"),
    "its own commit": (commit_itself, "commit"),
    "COMMIT by hand": (say_commit, "ended the transaction"),
    "a closed connection": (hang_up, ""),
    "nothing returned": (forget, "returned NoneType"),
    "not async": (not_async, "TypeError"),
}


async def test_whatever_a_use_case_does_wrong_spends_one_attempt(bench: Bench) -> None:
    """No failure is exempt, database errors included; and the worker goes on."""
    for name, (use_case, words) in BREAKING.items():
        row, job = bench.event()
        assert await bench.processor(use_case).process(row, 0, job) is Outcome.again, name
        status, attempts, message, _ = bench.row(row)
        assert (status, attempts) == ("pending", 1), name
        assert words in message, name
        assert len(message) <= 2_000, name
    assert bench.count("notices") == 0, "every write is rolled back"


async def test_a_use_case_that_takes_too_long_is_cut(bench: Bench) -> None:
    async def wait(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        await write(transaction)
        await asyncio.Event().wait()
        return Success()

    row, job = bench.event()
    await bench.processor(wait, use_case_within=0.05).process(row, 0, job)
    assert bench.row(row) == ("pending", 1, "the use case took longer than 0.05 s", False)
    assert bench.count("notices") == 0


async def test_what_fails_only_at_commit_is_a_failure_too(bench: Bench) -> None:
    bench.owner.execute(REFUSE)
    bench.owner.execute(
        "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON notices DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    row, job = bench.event()
    await bench.processor(succeed).process(row, 0, job)
    status, attempts, message, _ = bench.row(row)
    assert (status, attempts, bench.count("notices")) == ("pending", 1, 0)
    assert "refused" in message


async def test_a_use_case_whose_connection_is_cut_spends_one_attempt(bench: Bench) -> None:
    async def cut(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        await write(transaction)
        await asyncio.to_thread(
            bench.owner.execute, "SELECT pg_terminate_backend(%s)", [transaction.info.backend_pid]
        )
        await write(transaction)
        return Success()

    row, job = bench.event()
    assert await bench.processor(cut).process(row, 0, job) is Outcome.again
    assert (bench.row(row)[:2], bench.count("notices")) == (("pending", 1), 0)


async def test_an_event_whose_payload_is_no_envelope_fails_in_words(bench: Bench) -> None:
    """Rows may come from elsewhere, an import say."""
    row, job = bench.event()
    bench.owner.execute("UPDATE incoming_events SET payload = '{'")
    await bench.processor(succeed).process(row, 0, job)
    assert bench.row(row)[2].startswith("the payload is no envelope")
