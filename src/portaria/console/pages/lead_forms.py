"""Lead forms: their link, the snippet to embed them, and what they say."""

from typing import Final
from uuid import UUID

import msgspec
from litestar import Response, get, post
from litestar.response import Redirect

from portaria.console.deps import Console, ConsoleDep, Id, VisitorDep
from portaria.console.forms import Fields, field, words_of
from portaria.console.outcomes import why
from portaria.console.page import go, page
from portaria.console.visitor import AnyRequest, Visitor
from portaria.crm.forms.registry import (
    LeadForm,
    LeadFormDraft,
    LeadFormPatch,
    archive_form,
    create_form,
    list_forms,
    update_form,
)
from portaria.errors import Refusal

_PAGE: Final = "/f/"
_SUBMIT: Final = "/api/v1/lead-forms/"


@get("/forms")
async def show_forms(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    async with console.tenant(visitor) as conn:
        forms = await list_forms(conn, visitor.organization_id)
    return page(request, visitor, "forms.html", section="forms", forms=forms)


@get("/forms/new")
async def new_form(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    visitor.must("manager")
    return await _page(request, console, visitor, None, Fields())


@post("/forms", status_code=200)
async def make_form(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep
) -> Response[str] | Redirect:
    visitor.must("manager")
    values = await words_of(request)
    try:
        draft = msgspec.convert(_columns(values), LeadFormDraft)
    except msgspec.ValidationError as error:
        return await _page(request, console, visitor, None, values, Refusal(422, _unfit(values), str(error)))
    async with console.tenant(visitor) as conn:
        form = await create_form(conn, visitor.principal, draft)
    return go(f"/forms/{form.id}", "form-saved")


@get("/forms/{form_id:uuid}")
async def show_form(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, form_id: Id
) -> Response[str]:
    form = await _find(console, visitor, form_id)
    values = Fields(name=form.name, intro=form.intro, success_url=form.success_url or "")
    return await _page(request, console, visitor, form, values)


@post("/forms/{form_id:uuid}", status_code=200)
async def save_form(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, form_id: Id
) -> Response[str] | Redirect:
    visitor.must("manager")
    values = await words_of(request)
    try:
        patch = msgspec.convert(_columns(values), LeadFormPatch)
    except msgspec.ValidationError as error:
        form = await _find(console, visitor, form_id)
        return await _page(request, console, visitor, form, values, Refusal(422, _unfit(values), str(error)))
    async with console.tenant(visitor) as conn:
        await update_form(conn, visitor.principal, form_id, patch)
    return go(f"/forms/{form_id}", "form-saved")


@post("/forms/{form_id:uuid}/archive", status_code=200)
async def end_form(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, form_id: Id) -> Redirect:
    """Its link is unknown from now on; its leads stay."""
    visitor.must("manager")
    async with console.tenant(visitor) as conn:
        await archive_form(conn, visitor.principal, form_id)
    return go("/forms", "form-archived")


ROUTES = (show_forms, new_form, make_form, show_form, save_form, end_form)


def _columns(values: dict[str, str]) -> dict[str, str | None]:
    return {
        "name": field(values, "name"), "intro": field(values, "intro"),
        "success_url": field(values, "success_url") or None,
    }  # fmt: skip


def _unfit(values: dict[str, str]) -> str:
    return "invalid_url" if field(values, "name") and field(values, "success_url") else "invalid_name"


async def _find(console: Console, visitor: Visitor, form_id: UUID) -> LeadForm:
    async with console.tenant(visitor) as conn:
        forms = await list_forms(conn, visitor.organization_id)
    form = next((form for form in forms if form.id == form_id), None)
    if form is None:
        raise Refusal(404, "form_not_found", "There is no such form.")
    return form


async def _page(
    request: AnyRequest, console: Console, visitor: Visitor, form: LeadForm | None,
    values: dict[str, str], refusal: Refusal | None = None,
) -> Response[str]:  # fmt: skip
    address, link, action = console.address.rstrip("/"), "", ""
    if form is not None:
        link, action = address + _PAGE + form.path_token, address + _SUBMIT + form.path_token
    return page(
        request, visitor, "form.html", section="forms", form=form, values=values, link=link,
        form_action=action, problem=why(visitor.language, refusal) if refusal else None,
        code=refusal.status if refusal else 200,
    )  # fmt: skip
