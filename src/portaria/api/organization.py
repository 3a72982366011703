"""The organization one works in."""

import msgspec
from litestar.params import JSONBody

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.reading import tenant
from portaria.api.route import get, patch
from portaria.identity.organizations import (
    Organization,
    OrganizationChange,
    find_organization,
    update_organization,
)
from portaria.identity.principal import Role


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """What is to change; what is left out stays."""

    name: str | None = None
    time_zone: str | None = None
    locale: str | None = None
    agents_see_unowned: bool | None = None


@get("/organization", role=Role.viewer, tags=["organization"])
async def show_organization(request: ApiRequest, deps: Deps) -> Organization:
    """Name, time zone, language, and what agents may see."""
    async with tenant(deps, request.user) as conn:
        return await find_organization(conn, request.user.organization_id)


@patch("/organization", role=Role.admin, tags=["organization"])
async def change_organization(data: JSONBody[Change], request: ApiRequest, deps: Deps) -> Organization:
    """Changes what is given."""
    change = OrganizationChange(data.name, data.time_zone, data.locale, data.agents_see_unowned)
    async with deps.db.connection() as conn:
        return await update_organization(
            conn, request.user.organization_id, change, actor=str(request.user.user_id)
        )


ROUTES = [show_organization, change_organization]
