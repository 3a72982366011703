"""The driver is imported only under `db/`, by the queue, and where a query runs: beside a `queries.sql`."""

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src/portaria"
ALWAYS = {"db", "jobs"}
_IMPORT = ast.Import | ast.ImportFrom


def main() -> int:
    offences = [
        f"src/portaria/{file.relative_to(PACKAGE)}:{line}: imports the driver where no query runs"
        for file in sorted(PACKAGE.rglob("*.py"))
        if not _may_import(file)
        for line in imports_of_driver(file)
    ]
    print("\n".join(offences) or "psycopg is imported only where a query runs")
    return 1 if offences else 0


def imports_of_driver(file: Path) -> list[int]:
    """The lines of `file` that import the driver."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    return [node.lineno for node in ast.walk(tree) if isinstance(node, _IMPORT) and _of_driver(node)]


def _may_import(file: Path) -> bool:
    unit = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    folders = [folder for folder in file.parents if folder != PACKAGE and folder.is_relative_to(PACKAGE)]
    return unit in ALWAYS or any((folder / "queries.sql").exists() for folder in folders)


def _of_driver(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return any(name.split(".")[0] in ("psycopg", "psycopg_pool") for name in names)


if __name__ == "__main__":
    sys.exit(main())
