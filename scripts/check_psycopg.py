"""The driver is imported only under `db/` and where a query runs: a capability with queries."""

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src/portaria"
# They have no queries of their own, and never will.
WITHOUT = {"cli", "console", "api", "wiring", "settings", "errors", "ids"}
_IMPORT = ast.Import | ast.ImportFrom


def main() -> int:
    offences = [
        f"src/portaria/{file.relative_to(PACKAGE)}:{line}: {why}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, why in offences_in(file)
    ]
    print("\n".join(offences) or "psycopg is imported only where a query runs")
    return 1 if offences else 0


def offences_in(file: Path) -> list[tuple[int, str]]:
    """Lines of `file` that import the driver where it must not be."""
    unit = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if unit == "db":
        return []
    if unit in WITHOUT:
        why = f"{unit} asks a capability instead of importing the driver"
    elif unit == "jobs" or _has_queries(file, PACKAGE / unit):
        return []
    else:
        why = f"{unit} imports the driver but has no queries.sql"
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    return [(node.lineno, why) for node in ast.walk(tree) if isinstance(node, _IMPORT) and _of_driver(node)]


def _has_queries(file: Path, capability: Path) -> bool:
    folders = [folder for folder in file.parents if folder.is_relative_to(capability)]
    return any((folder / "queries.sql").exists() for folder in folders)


def _of_driver(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return any(name.split(".")[0] in ("psycopg", "psycopg_pool") for name in names)


if __name__ == "__main__":
    sys.exit(main())
