"""One read of a request: as the tenant, and only for so long."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from portaria.api.deps import ApiDeps
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.identity.principal import Principal

_Q = load_queries("portaria.api")


@asynccontextmanager
async def tenant(deps: ApiDeps, principal: Principal) -> AsyncIterator[Connection]:
    """A transaction that sees the principal's organization alone, each statement for `read_within` seconds
    at most; for an operator also the rows of no organization."""
    async with deps.db.tenant(principal.organization_id, operator=principal.is_operator) as conn:
        await conn.execute(_Q["bound_statements"], {"limit": f"{int(deps.read_within * 1000)}ms"})
        yield conn
