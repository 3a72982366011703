"""Which organization or member a command means: an id, or what a person would type."""

from uuid import UUID

import typer

from portaria.db.pool import Connection
from portaria.errors import Refusal
from portaria.identity.members import find_member, find_member_id
from portaria.identity.organizations import find_organization, list_organizations

ORGANIZATION = typer.Option(
    None, "--organization", "--org", help="The organization's id; may be left out where there is only one."
)
JSON = typer.Option(False, "--json", help="One JSON document on stdout.")


async def pick_organization(conn: Connection, given: UUID | None) -> UUID:
    """The organization given, or the only one. Raises a `Refusal`, for an unknown one too."""
    if given is not None:
        return (await find_organization(conn, given)).id
    everything = await list_organizations(conn)
    if len(everything) == 1:
        return everything[0].id
    if not everything:
        raise Refusal(
            404, "organization_not_found", "There is no organization yet: portaria org create NAME."
        )
    raise Refusal(409, "organization_missing", "There are several organizations: name one by --organization.")


async def pick_member(conn: Connection, organization_id: UUID, given: str) -> UUID:
    """The member given by user id or e-mail. Raises a 404 `Refusal`."""
    try:
        user_id = UUID(given)
    except ValueError:
        return await find_member_id(conn, organization_id, given)
    return (await find_member(conn, organization_id, user_id)).user_id
