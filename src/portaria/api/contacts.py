"""Erasing a person."""

import msgspec
from litestar.params import JSONBody

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.paging import Id
from portaria.api.route import post, problems
from portaria.crm.erasure import Erasure, count_erasure, erase_contact
from portaria.identity.principal import Role


class EraseOptions(msgspec.Struct, forbid_unknown_fields=True):
    """`dry_run`: only count what would be blanked."""

    dry_run: bool = False


@post("/contacts/{contact_id:uuid}/erase", role=Role.admin, tags=["contacts"], responses=problems(404, 409))
async def erase(
    contact_id: Id, request: ApiRequest, deps: Deps, data: JSONBody[EraseOptions | None] = None
) -> Erasure:
    """Forgets a person (LGPD): blanked in place everywhere, for good; audited. A second time changes nothing.

    409 `arrivals_pending` while a delivery of theirs is still being taken in.
    """
    organization_id = request.user.organization_id
    if data is not None and data.dry_run:
        return await count_erasure(deps.db, organization_id, contact_id)
    return await erase_contact(deps.db, organization_id, contact_id, actor=request.user.user_id)


ROUTES = [erase]
