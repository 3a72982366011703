"""What every command says and how it ends: 0 done, 1 refused or failed, 2 wrong use (spec 7)."""

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any, NoReturn, ParamSpec

import msgspec
import psycopg
import typer
from psycopg_pool import PoolTimeout
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from portaria import wiring
from portaria.errors import Refusal
from portaria.telemetry import configure_logging

_P = ParamSpec("_P")


def say(text: str) -> None:
    """A line for the person, on stderr."""
    typer.echo(text, err=True)


def fail(text: str, *, code: int = 1) -> NoReturn:
    """Says why, and ends with `code`."""
    say(text)
    raise typer.Exit(code)


def command(body: Callable[_P, Awaitable[None]]) -> Callable[_P, None]:
    """An asynchronous command: refusals and a database that is away end it in plain words, exit 1."""

    @functools.wraps(body)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        async def main() -> None:
            await body(*args, **kwargs)

        configure_logging("warning", "console")  # on stderr: stdout is for the document alone
        try:
            asyncio.run(main())
        except Refusal as refusal:
            fail(refusal.detail)
        except wiring.NotConfigured as error:
            fail(str(error))
        except PoolTimeout:
            fail("The database does not answer: is DATABASE_URL right, and the server running?")
        except psycopg.Error as error:
            fail(f"The database refused: {error.diag.message_primary or error}")

    return run


def emit(document: object, as_json: bool, human: RenderableType) -> None:
    """One JSON document on stdout, or what a person reads."""
    if as_json:
        typer.echo(msgspec.json.encode(_plain(document), enc_hook=_encode).decode())
    else:
        Console().print(human, highlight=False)


def rows_table(rows: Sequence[Any], columns: Sequence[str], *, upright: bool = False) -> RenderableType:
    """Rows (mappings or dataclasses) as a table; `upright`: a single row, a line for each column."""
    plain = [asdict(row) if is_dataclass(row) and not isinstance(row, type) else row for row in rows]
    if not plain:
        return "nothing found"
    if upright:
        return "\n".join(f"{column}: {_text(plain[0][column])}" for column in columns)
    table = Table(*columns)
    for row in plain:
        table.add_row(*(_text(row[column]) for column in columns))
    return table


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr for what takes longer than two seconds; the block calls what it is given per item."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, transient=True, disable=not console.is_terminal or total < 2,
    )  # fmt: skip
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _encode(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def stdin_line() -> str:
    """One line from stdin, for passwords that must not be seen in a process list."""
    return sys.stdin.readline().rstrip("\n")
