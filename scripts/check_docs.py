"""What the documents say about the code is true: links, stops, commands, settings."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from portaria.settings import Settings

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/portaria"
READMES = sorted(ROOT.glob("README*.md"))
DOCUMENTS = [*READMES, *sorted((ROOT / "docs").rglob("*.md"))]

_LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_STOP = re.compile(r"`([\w./-]+\.(?:py|sql)):([\w.]+)`")
_COMMAND = re.compile(r"\bportaria((?: +(?:--)?[a-z][a-z-]*)+)")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_TARGET = re.compile(r"\bmake ([a-z][a-z-]*)")
_SETTING = re.compile(r"\bPORTARIA_[A-Z0-9_]+\b")


def main() -> int:
    problems = [*links(), *stops(), *commands(), *targets(), *settings()]
    print("\n".join(problems) or f"{len(DOCUMENTS)} documents agree with the code")
    return 1 if problems else 0


def links() -> Iterator[str]:
    """Relative links that lead nowhere."""
    for document in DOCUMENTS:
        prose = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in _LINK.findall(prose):
            if re.match(r"[a-z]+:", link) or link.startswith("#"):
                continue
            if not (document.parent / link.partition("#")[0]).exists():
                yield f"{_name(document)}: link to {link} leads nowhere"


def stops() -> Iterator[str]:
    """Stops of the architecture page whose file or function is gone."""
    page = ROOT / "docs/architecture.md"
    found = _STOP.findall(page.read_text(encoding="utf-8")) if page.exists() else []
    if not found:
        yield "docs/architecture.md: lists no stop as `file:function`"
    for file, function in found:
        path = next((p for p in (PACKAGE / file, ROOT / file) if p.is_file()), None)
        if path is None:
            yield f"docs/architecture.md: there is no {file}"
        elif function not in _defined(path):
            yield f"docs/architecture.md: {file} has no {function}"


def commands() -> Iterator[str]:
    """Commands and options that a README names and the program lacks."""
    module = importlib.import_module("portaria.cli")
    app = next((value for value in vars(module).values() if isinstance(value, typer.Typer)), None)
    if app is None:
        yield "portaria.cli holds no Typer app"
        return
    program = typer.main.get_command(app)
    for document, line in _code_lines(READMES):
        for words in _COMMAND.findall(line):
            if problem := _not_understood(program, words.split()):
                yield f"{_name(document)}: `portaria{words}`: {problem}"


def targets() -> Iterator[str]:
    """`make` targets that a README names and the Makefile lacks."""
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document, line in _code_lines(READMES):
        for target in _TARGET.findall(line):
            if target not in known:
                yield f"{_name(document)}: there is no `make {target}`"


def settings() -> Iterator[str]:
    """Settings that only the documents or only the code knows."""
    prefix = Settings.model_config["env_prefix"]
    known = {
        f"{prefix}{name}".upper()
        for name, field in Settings.model_fields.items()
        if not field.validation_alias
    }
    named = {
        name for document in DOCUMENTS for name in _SETTING.findall(document.read_text(encoding="utf-8"))
    }
    yield from (f"documents name {name}, which is no setting" for name in sorted(named - known))
    yield from (f"the setting {name} is in no document" for name in sorted(known - named))


def _code_lines(documents: list[Path]) -> Iterator[tuple[Path, str]]:
    for document in documents:
        for code in _CODE.findall(document.read_text(encoding="utf-8")):
            for line in code.strip("`").splitlines():
                yield document, line.partition(" #")[0]


def _defined(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        created = (
            r"(?:FUNCTION|PROCEDURE|TRIGGER|TABLE|VIEW|INDEX|TYPE)\s+(?:IF NOT EXISTS\s+)?(?:public\.)?(\w+)"
        )
        named = re.findall(rf"{created}|-- name: *(\w+)", text, re.IGNORECASE)
        return {name for either in named for name in either}
    return set(_definitions(ast.parse(text), ""))


def _definitions(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{prefix}{child.name}"
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, f"{prefix}{child.name}.")


def _not_understood(command: Any, words: list[str]) -> str:
    """Why the command line is wrong, or nothing. `Any`: which click a Typer uses is its own affair."""
    for word in words:
        if word.startswith("--"):
            if not any(word in parameter.opts + parameter.secondary_opts for parameter in command.params):
                return f"{command.name} has no option {word}"
        elif hasattr(command, "commands"):
            if word not in command.commands:
                return f"there is no command {word}"
            command = command.commands[word]
    return ""


def _name(document: Path) -> str:
    return str(document.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
