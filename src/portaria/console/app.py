"""The console as one ASGI application; `wiring` mounts it behind the doors and beside the API."""

from typing import cast

from litestar import Litestar
from litestar.di import Provide

from portaria.asgi import App
from portaria.console import assets, pages
from portaria.console.deps import Console
from portaria.console.failures import exception_handlers
from portaria.console.language import warm_up
from portaria.console.render import environment
from portaria.console.same_site import check_request
from portaria.console.security import guarded
from portaria.console.visitor import AnyRequest, Visitor, find_visitor

_LARGEST_FORM = 256 * 1024


def create_console(console: Console) -> App:
    """Every page, with its sessions and its headers. The pool in `console` is opened by the caller.

    A path that is no page is answered 404 in words: mount it behind everything else.
    """
    warm_up()
    environment()

    async def provided() -> Console:
        return console

    async def visitor(request: AnyRequest) -> Visitor:
        return await find_visitor(request, console.db)

    app = Litestar(
        [*pages.ROUTES, assets.serve_asset, assets.service_worker],
        dependencies={"console": Provide(provided), "visitor": Provide(visitor)},
        exception_handlers=exception_handlers(),
        middleware=[console.sessions.middleware],
        before_request=check_request,
        openapi_config=None,
        request_max_body_size=_LARGEST_FORM,
        logging_config=None,
        debug=False,
        pdb_on_exception=False,
    )
    return guarded(cast(App, app))
