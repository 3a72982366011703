"""Named queries: a capability's SQL lives in its own `queries.sql`, as blocks `-- name: some_name`."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import LiteralString, cast

_NAME = re.compile(r"^-- name: *(\w+) *$", re.MULTILINE)


@cache
def load_queries(package: str) -> Mapping[str, LiteralString]:
    """The queries of `package`'s `queries.sql` by name. Raises ValueError for a name given twice."""
    text = (files(package) / "queries.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"a query name stands twice in {package}/queries.sql")
    return MappingProxyType(
        {n: cast(LiteralString, b.strip().rstrip(";")) for n, b in zip(names, bodies, strict=True)}
    )
