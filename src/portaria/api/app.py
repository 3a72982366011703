"""The Litestar application: routes, their common ground, and the OpenAPI document."""

from importlib.metadata import version

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.middleware import DefineMiddleware
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from portaria.api import (
    audit,
    auth,
    automations,
    channels,
    contacts,
    conversations,
    health,
    incoming_events,
    leads,
    members,
    notices,
    organization,
    webhook_events,
)
from portaria.api.access import Authentication, check_role
from portaria.api.deps import ApiDeps
from portaria.api.problems import SAFE_HEADERS, exception_handlers

_LARGEST_BODY = 1024 * 1024


def create_api(deps: ApiDeps) -> Litestar:
    """The API and the health routes as one ASGI application. The pool in `deps` is opened by the caller."""

    async def provided() -> ApiDeps:
        return deps

    versioned = Router(
        "/api/v1",
        route_handlers=[
            *auth.ROUTES, *organization.ROUTES, *members.ROUTES, *channels.ROUTES, *contacts.ROUTES,
            *conversations.ROUTES, *leads.ROUTES, *automations.ROUTES, *notices.ROUTES,
            *webhook_events.ROUTES, *incoming_events.ROUTES, *audit.ROUTES,
        ],
        middleware=[DefineMiddleware(Authentication, deps=lambda: deps)],
        guards=[check_role],
    )  # fmt: skip
    return Litestar(
        [versioned, *health.ROUTES],
        dependencies={"deps": Provide(provided)},
        exception_handlers=exception_handlers(),
        openapi_config=_openapi(),
        request_max_body_size=_LARGEST_BODY,
        response_headers=SAFE_HEADERS,
        logging_config=None,
        debug=False,
        pdb_on_exception=False,
    )


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Portaria",
        version=version("portaria"),
        path="/schema",
        use_handler_docstrings=True,
        render_plugins=[JsonRenderPlugin()],
        components=Components(
            security_schemes={"bearer": SecurityScheme(type="http", scheme="bearer", bearer_format="JWT")}
        ),
    )
