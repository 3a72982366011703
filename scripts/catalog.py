"""The console's Portuguese catalog: brought up to date with the sentences in the code, or checked.

    scripts/catalog.py            adds new sentences to pt_BR, and takes out those that are gone
    scripts/catalog.py --check    says what is untranslated, gone, or has other placeholders

Sentences stand in the code in English. The catalog holds no line numbers, so that it changes only when a
sentence does.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

CONSOLE = Path(__file__).parent.parent / "src/portaria/console"
CATALOG = CONSOLE / "locale/pt_BR/LC_MESSAGES/portaria.po"
_METHODS = [("**.py", "python"), ("templates/**.html", "jinja2.ext:babel_extract")]
_KEYWORDS = {"_": None, "N_": None, "say": None, "ngettext": (1, 2), "count": (1, 2)}
_PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w+\}")
# The two forms that gettext's own tools know for pt_BR.
_PLURALS = [("Plural-Forms", "nplurals=2; plural=(n > 1);")]
_HEADER = """\
# Portuguese of Brazil for Portaria's console.
# New sentences: python scripts/catalog.py"""


def main() -> int:
    kept = read()
    wanted = sentences()
    if "--check" in sys.argv[1:]:
        problems = list(faults(kept, wanted))
        print("\n".join(problems) or f"{len(wanted)} sentences, every one in Portuguese")
        return 1 if problems else 0
    write(kept, wanted)
    missing = [m for m in wanted if not _translated(kept.get(_key(m)))]
    print(f"{len(wanted)} sentences, {len(missing)} without a translation")
    return 0


def sentences() -> Catalog:
    """Every sentence of the code, by the file that says it."""
    found = Catalog(fuzzy=False)
    for file, _line, message, comments, _context in extract_from_dir(
        CONSOLE, _METHODS, keywords=_KEYWORDS, comment_tags=("Translators:",)
    ):
        found.add(message, None, [(file, None)], auto_comments=comments)  # type: ignore[list-item]
    return found


def read() -> Catalog:
    with CATALOG.open("rb") as file:
        return read_po(file, locale="pt_BR")


def write(kept: Catalog, wanted: Catalog) -> None:
    """The wanted sentences with the kept translations."""
    made = Catalog(locale="pt_BR", header_comment=_HEADER, project="portaria", fuzzy=False)
    made.mime_headers = _PLURALS
    for message in wanted:
        if message.id:
            known = kept.get(_key(message))
            made.add(message.id, known.string if known else None, message.locations)
    with CATALOG.open("wb") as file:
        write_po(file, made, width=108, sort_output=True, omit_header=False, include_lineno=False)
    lines = CATALOG.read_text(encoding="utf-8").splitlines(keepends=True)
    passing = ("POT-Creation-Date", "PO-Revision-Date", "Last-Translator", "Language-Team", "Generated-By",
               "Report-Msgid-Bugs-To")  # fmt: skip
    CATALOG.write_text(
        "".join(line for line in lines if not line.startswith(tuple(f'"{name}' for name in passing))),
        encoding="utf-8",
    )


def faults(kept: Catalog, wanted: Catalog) -> Iterator[str]:
    """What a reader of Portuguese would stumble over."""
    for message in wanted:
        if not message.id:
            continue
        known = kept.get(_key(message))
        if known is None or not _translated(known):
            yield f"not translated: {message.id}"
        elif known.fuzzy:
            yield f"fuzzy: {message.id}"
        else:
            yield from _other_placeholders(known)
    for message in kept:
        if message.id and wanted.get(_key(message)) is None:
            yield f"nobody says this any more: {message.id}"


def _other_placeholders(message: Message) -> Iterator[str]:
    ids: tuple[Any, ...] = message.id if isinstance(message.id, tuple) else (message.id,)
    strings: tuple[Any, ...] = message.string if isinstance(message.string, tuple) else (message.string,)
    for said, translated in zip(ids, strings, strict=True):
        # The singular may leave the number out: «uma vez».
        lacking = set(_PLACEHOLDER.findall(said)) ^ set(_PLACEHOLDER.findall(translated))
        if lacking - ({"%(n)s"} if len(ids) > 1 else set()):
            yield f"other placeholders: {said!r} -> {translated!r}"


def _translated(message: Message | None) -> bool:
    if message is None:
        return False
    return all(message.string) if isinstance(message.string, tuple) else bool(message.string)


def _key(message: Message) -> str:
    return message.id[0] if isinstance(message.id, tuple) else str(message.id)


if __name__ == "__main__":
    sys.exit(main())
