"""Channels: their list for managers, their secrets for admins, each shown once."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from litestar.params import FromQuery, JSONBody

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.paging import TIME_AND_ID, Cursor, Id, Limit, Page, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import get, post, problems
from portaria.identity.principal import Role
from portaria.intake.channels import (
    Channel,
    ChannelRequest,
    archive_channel,
    channel_url,
    create_channel,
    find_channel,
    list_channels,
    rotate_secret,
)


class NewChannel(msgspec.Struct, forbid_unknown_fields=True):
    """`provider`: zernio or zernio_social. Without a `secret`, one is made."""

    provider: str
    account_id: str
    name: str = ""
    phone_number: str | None = None
    provider_profile_id: str | None = None
    secret: str | None = None


class Rotation(msgspec.Struct, forbid_unknown_fields=True):
    """The old secret stays good for `keep_hours`."""

    secret: str | None = None
    keep_hours: Annotated[float, msgspec.Meta(ge=0, le=720)] = 72.0


@dataclass(frozen=True, slots=True)
class CreatedChannel:
    """Where the provider posts, and the secret it signs with, shown this once."""

    id: UUID
    url: str
    secret: str


@dataclass(frozen=True, slots=True)
class RotatedSecret:
    """The new secret, shown this once."""

    secret: str
    previous_secret_until: datetime | None


@get("/channels", role=Role.manager, tags=["channels"])
async def list_(
    request: ApiRequest,
    deps: Deps,
    limit: Limit = 50,
    cursor: Cursor = None,
    archived: FromQuery[bool] = False,
) -> Page[Channel]:
    """The channels, the oldest first; with `archived`, ended ones too."""
    after = read_cursor(cursor, TIME_AND_ID)
    async with tenant(deps, request.user) as conn:
        rows = await list_channels(
            conn, request.user.organization_id, limit=limit + 1, with_archived=archived, after=after
        )
    return page(rows, limit, lambda c: (c.created_at, c.id))


@get("/channels/{channel_id:uuid}", role=Role.manager, tags=["channels"], responses=problems(404))
async def show(channel_id: Id, request: ApiRequest, deps: Deps) -> Channel:
    """One channel, without its secret."""
    async with tenant(deps, request.user) as conn:
        return await find_channel(conn, request.user.organization_id, channel_id)


@post("/channels", role=Role.admin, status_code=201, tags=["channels"], responses=problems(409))
async def create(data: JSONBody[NewChannel], request: ApiRequest, deps: Deps) -> CreatedChannel:
    """Registers an account: 409 when a live channel of the installation has it, or its number, already."""
    wanted = ChannelRequest(
        data.provider, data.account_id, data.name, data.phone_number, data.provider_profile_id, data.secret
    )
    async with deps.db.connection() as conn:
        made = await create_channel(
            conn, deps.box, request.user.organization_id, wanted, actor=request.user.user_id
        )
    return CreatedChannel(made.id, channel_url(deps.address, made.token), made.secret)


@post(
    "/channels/{channel_id:uuid}/rotate-secret",
    role=Role.admin, tags=["channels"], responses=problems(404),
)  # fmt: skip
async def rotate(channel_id: Id, data: JSONBody[Rotation], request: ApiRequest, deps: Deps) -> RotatedSecret:
    """Makes a new secret; the old one stays good for a while."""
    async with deps.db.connection() as conn:
        rotated = await rotate_secret(
            conn, deps.box, request.user.organization_id, channel_id,
            actor=request.user.user_id, secret=data.secret, keep_for=data.keep_hours * 3600,
        )  # fmt: skip
    return RotatedSecret(rotated.secret, rotated.previous_until)


@post("/channels/{channel_id:uuid}/archive", role=Role.admin, tags=["channels"], responses=problems(404))
async def archive(channel_id: Id, request: ApiRequest, deps: Deps) -> Channel:
    """Ends a channel: what still arrives is archived and ignored; its account is free again."""
    organization_id = request.user.organization_id
    async with deps.db.transaction() as conn:
        await archive_channel(conn, organization_id, channel_id, actor=request.user.user_id)
        return await find_channel(conn, organization_id, channel_id)


ROUTES = [list_, show, create, rotate, archive]
