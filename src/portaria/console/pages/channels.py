"""Channels: connected numbers and accounts; a secret is shown once, when it is made (spec 2.1, 2.5)."""

from typing import Final
from uuid import UUID

from litestar import Response, get, post
from litestar.response import Redirect

from portaria.console.deps import Console, ConsoleDep, Id, VisitorDep
from portaria.console.forms import Fields, field, words_of
from portaria.console.outcomes import why
from portaria.console.page import go, page
from portaria.console.visitor import AnyRequest, Visitor
from portaria.errors import Refusal
from portaria.intake.channels import (
    ChannelRequest,
    archive_channel,
    create_channel,
    find_channel,
    list_channels,
    rotate_secret,
)

_AT_ONCE: Final = 200
_PROVIDERS: Final = ("zernio", "zernio_social")
_INSTALLATION: Final = "/api/v1/webhooks/canal-da-instalacao"


@get("/channels")
async def show_channels(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    """Live ones, then the archived."""
    visitor.must("manager")
    async with console.tenant(visitor) as conn:
        channels = await list_channels(conn, visitor.organization_id, limit=_AT_ONCE, with_archived=True)
    return page(
        request, visitor, "channels.html", section="channels",
        channels=sorted(channels, key=lambda c: c.archived_at is not None),
    )  # fmt: skip


@get("/channels/new")
async def new_channel(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    visitor.must("admin")
    return await _form(request, console, visitor, Fields(provider="zernio"))


@post("/channels", status_code=200)
async def make_channel(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    """The new channel with its address and secret, to be copied now; or the form with what is wrong."""
    visitor.must("admin")
    values = await words_of(request)
    wanted = ChannelRequest(
        provider=field(values, "provider"), account_id=field(values, "account_id"),
        name=field(values, "name"), phone_number=field(values, "phone_number") or None,
        profile_id=field(values, "profile_id") or None, secret=field(values, "secret") or None,
    )  # fmt: skip
    try:
        async with console.db.connection() as conn:
            made = await create_channel(
                conn, console.box, visitor.organization_id, wanted, actor=visitor.principal.user_id
            )
    except Refusal as refusal:
        return await _form(request, console, visitor, values, refusal)
    return await _one(request, console, visitor, made.id, secret=made.secret, fresh=True)


@get("/channels/{channel_id:uuid}")
async def show_channel(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, channel_id: Id
) -> Response[str]:
    """One channel: where its provider delivers, and what state it is in. Never its secret."""
    visitor.must("manager")
    return await _one(request, console, visitor, channel_id)


@post("/channels/{channel_id:uuid}/rotate", status_code=200)
async def rotate(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, channel_id: Id
) -> Response[str]:
    """A new secret, shown once; the old one is good for 72 hours more, or ends at once."""
    visitor.must("admin")
    values = await words_of(request)
    ends_now = {"keep_for": 0.0} if field(values, "end_now") == "on" else {}
    try:
        async with console.db.connection() as conn:
            rotated = await rotate_secret(
                conn, console.box, visitor.organization_id, channel_id, actor=visitor.principal.user_id,
                secret=field(values, "secret") or None, **ends_now,
            )  # fmt: skip
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        return await _one(request, console, visitor, channel_id, refusal=refusal)
    return await _one(request, console, visitor, channel_id, secret=rotated.secret)


@post("/channels/{channel_id:uuid}/archive", status_code=200)
async def archive(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, channel_id: Id) -> Redirect:
    """Ends the channel; what still arrives for it is kept and ignored."""
    visitor.must("admin")
    async with console.db.connection() as conn:
        await archive_channel(conn, visitor.organization_id, channel_id, actor=visitor.principal.user_id)
    return go("/channels", "channel-archived")


ROUTES = (show_channels, new_channel, make_channel, show_channel, rotate, archive)


async def _form(
    request: AnyRequest, console: Console, visitor: Visitor, values: dict[str, str],
    refusal: Refusal | None = None,
) -> Response[str]:  # fmt: skip
    return page(
        request, visitor, "channel_new.html", section="channels", values=values,
        providers=_PROVIDERS, problem=why(visitor.language, refusal) if refusal else None,
        wrong_field=_FIELDS.get(refusal.code) if refusal else None,
        code=refusal.status if refusal else 200,
    )  # fmt: skip


async def _one(
    request: AnyRequest, console: Console, visitor: Visitor, channel_id: UUID,
    *, secret: str | None = None, fresh: bool = False, refusal: Refusal | None = None,
) -> Response[str]:  # fmt: skip
    async with console.tenant(visitor) as conn:
        channel = await find_channel(conn, visitor.organization_id, channel_id)
    address = console.address.rstrip("/")
    return page(
        request, visitor, "channel.html", section="channels", channel=channel, secret=secret,
        fresh=fresh, url=f"{address}/api/v1/webhooks/channel/{channel.webhook_path_token}",
        installation_url=address + _INSTALLATION,
        problem=why(visitor.language, refusal) if refusal else None,
        code=refusal.status if refusal else 200,
    )  # fmt: skip


_FIELDS: Final = {
    "account_taken": "account_id", "phone_taken": "phone_number", "invalid_phone": "phone_number",
    "unknown_provider": "provider", "weak_secret": "secret",
}  # fmt: skip
