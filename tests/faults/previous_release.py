"""The statements that the previous release sends: `previous_release.sql`, written anew at each release by

python -m tests.faults.previous_release
"""

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

CAPABILITIES = ("intake", "accounts", "automations", "crm.forms", "events", "jobs", "notices", "audit")
SAVED = Path(__file__).with_suffix(".sql")
_NAME = re.compile(r"^-- name: *(\S+) *$", re.MULTILINE)
_PLACE = re.compile(r"%\((\w+)\)s|%[sb]")

_PACKED = {
    "intake.archive": ("uuid[]", "uuid[]", "uuid[]", "text[]", "text[]", "bytea[]"),
    "intake.accept": ("uuid[]", "uuid[]", "uuid[]"),
}
"""Types of places that the driver names and the statement does not."""


def saved() -> dict[str, str]:
    """Every statement, by capability and name, with its places as PostgreSQL numbers them."""
    _, *parts = _NAME.split(SAVED.read_text(encoding="utf-8"))
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def current() -> Iterator[tuple[str, str]]:
    """The statements of this release."""
    root = Path(str(files("portaria")))
    for path in sorted(root.rglob("queries.sql")):
        _, *parts = _NAME.split(path.read_text(encoding="utf-8"))
        capability = ".".join(path.parent.relative_to(root).parts)
        if capability not in CAPABILITIES:
            continue
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            full = f"{capability}.{name}"
            yield full, _numbered(body.strip(), _PACKED.get(full, ()))


def _numbered(statement: str, types: tuple[str, ...]) -> str:
    places: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        place = places.setdefault(match[1] or f"place {len(places)}", len(places) + 1)
        return f"${place}::{types[place - 1]}" if types else f"${place}"

    return _PLACE.sub(number, statement).replace("%%", "%")


if __name__ == "__main__":
    SAVED.write_text(
        "\n\n".join(f"-- name: {name}\n{body}" for name, body in current()) + "\n", encoding="utf-8"
    )
