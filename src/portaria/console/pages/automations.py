"""Automations: the list with runs, the rule's form with the rotation's queue, and who is next (spec 4)."""

from typing import Any, Final
from uuid import UUID

from litestar import Response, get, post
from litestar.response import Redirect

from portaria.automations.conditions import FIELDS
from portaria.automations.rotation import list_turns, preview, turns_per_member
from portaria.automations.rulebook import Rule, create_rule, delete_rule, find_rule, list_rules, update_rule
from portaria.automations.rules import draft_from, patch_from, rotation_of
from portaria.automations.runs import list_runs
from portaria.console.cursors import read_time_and_id, with_query, write_place
from portaria.console.deps import Console, ConsoleDep, Id, Place, VisitorDep
from portaria.console.forms import field, words_of
from portaria.console.outcomes import why
from portaria.console.page import go, page
from portaria.console.rule_form import RuleForm, form_from, form_of
from portaria.console.visitor import AnyRequest, Visitor
from portaria.errors import Refusal
from portaria.identity.members import list_members

_RUNS: Final = 20
_MEMBERS: Final = 500
_SHOWN_HERE: Final = (409, 412, 422)


@get("/automations")
async def show_rules(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    """Every rule in the order in which they run, with its last run."""
    async with console.tenant(visitor) as conn:
        rules = await list_rules(conn, visitor.organization_id)
        last = {
            rule.id: next(iter(await list_runs(conn, visitor.organization_id, rule.id, limit=1)), None)
            for rule in rules
        }
    forms = {rule.id: form_of(rule) for rule in rules}
    return page(request, visitor, "rules.html", section="automations", rules=rules, forms=forms, last=last)


@get("/automations/new")
async def new_rule(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    visitor.must("manager")
    return await _rule_page(request, console, visitor, None, RuleForm())


@post("/automations", status_code=200)
async def make_rule(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep
) -> Response[str] | Redirect:
    """The new rule; its form again when it cannot be."""
    visitor.must("manager")
    form = await form_from(request, whole=True)
    try:
        async with console.tenant(visitor) as conn:
            rule = await create_rule(conn, visitor.principal, draft_from(form.fields()))
    except Refusal as refusal:
        return await _again(request, console, visitor, None, form, refusal)
    return go(f"/automations/{rule.id}", "rule-created")


@get("/automations/{rule_id:uuid}")
async def show_rule(
    request: AnyRequest,
    console: ConsoleDep,
    visitor: VisitorDep,
    rule_id: Id,
    after: Place = None,
) -> Response[str]:
    """One rule: its form, who is next and why, the turns, the runs."""
    async with console.tenant(visitor) as conn:
        rule = await find_rule(conn, visitor.organization_id, rule_id)
    return await _rule_page(request, console, visitor, rule, form_of(rule), after=after)


@post("/automations/{rule_id:uuid}", status_code=200)
async def save_rule(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, rule_id: Id
) -> Response[str] | Redirect:
    """Saves the form over the version that it was made from. If somebody was faster, nothing is
    overwritten: both versions are shown."""
    visitor.must("manager")
    values = await words_of(request)
    async with console.tenant(visitor) as conn:
        rule = await find_rule(conn, visitor.organization_id, rule_id)
    form = await form_from(request, whole=form_of(rule).whole)
    try:
        async with console.tenant(visitor) as conn:
            await update_rule(conn, visitor.principal, rule_id, patch_from(form.fields()), _version(values))
    except Refusal as refusal:
        return await _again(request, console, visitor, rule, form, refusal)
    return go(f"/automations/{rule_id}", "rule-saved")


@post("/automations/{rule_id:uuid}/active", status_code=200)
async def switch_rule(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, rule_id: Id) -> Redirect:
    """On or off, from the list."""
    visitor.must("manager")
    values = await words_of(request)
    async with console.tenant(visitor) as conn:
        patch = patch_from({"is_active": field(values, "is_active") == "on"})
        await update_rule(conn, visitor.principal, rule_id, patch)
    return go("/automations", "rule-saved")


@post("/automations/{rule_id:uuid}/delete", status_code=200)
async def remove_rule(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, rule_id: Id
) -> Response[str] | Redirect:
    """Ends the rule; its runs and turns stay."""
    visitor.must("manager")
    values = await words_of(request)
    try:
        async with console.tenant(visitor) as conn:
            await delete_rule(conn, visitor.principal, rule_id, _version(values))
    except Refusal as refusal:
        if refusal.status != 412:
            raise
        async with console.tenant(visitor) as conn:
            rule = await find_rule(conn, visitor.organization_id, rule_id)
        return await _again(request, console, visitor, rule, form_of(rule), refusal)
    return go("/automations", "rule-deleted")


ROUTES = (show_rules, new_rule, make_rule, show_rule, save_rule, switch_rule, remove_rule)


def _version(values: dict[str, str]) -> frozenset[int]:
    """The version that the form was made from: none matches a form that does not say."""
    text = field(values, "version")
    return frozenset({int(text)}) if text.isdecimal() and len(text) < 10 else frozenset()


async def _again(
    request: AnyRequest,
    console: Console,
    visitor: Visitor,
    rule: Rule | None,
    form: RuleForm,
    refusal: Refusal,
) -> Response[str]:
    """The form as it was sent, with what is wrong; beside it the stored rule when somebody was faster."""
    if refusal.status not in _SHOWN_HERE:
        raise refusal
    if rule is not None:
        async with console.tenant(visitor) as conn:
            rule = await find_rule(conn, visitor.organization_id, rule.id)
    return await _rule_page(request, console, visitor, rule, form, refusal=refusal)


async def _rule_page(
    request: AnyRequest, console: Console, visitor: Visitor, rule: Rule | None, form: RuleForm,
    *, after: str | None = None, refusal: Refusal | None = None,
) -> Response[str]:  # fmt: skip
    organization_id, around = visitor.organization_id, {}
    async with console.tenant(visitor) as conn:
        members = await list_members(conn, organization_id, limit=_MEMBERS, with_revoked=True)
        if rule is not None:
            around = await _around(conn, organization_id, rule, after)
    conflict = refusal is not None and refusal.status == 412
    return page(
        request, visitor, "rule.html", section="automations", rule=rule, form=form,
        members=members, by_id={str(m.user_id): m for m in members}, fields=FIELDS,
        theirs=form_of(rule) if conflict and rule else None,
        problem=why(visitor.language, refusal) if refusal else None,
        code=refusal.status if refusal else 200, **around,
    )  # fmt: skip


async def _around(conn: Any, organization_id: UUID, rule: Rule, after: str | None) -> dict[str, Any]:
    runs, more = (
        await list_runs(conn, organization_id, rule.id, limit=_RUNS + 1, after=read_time_and_id(after)),
        None,
    )
    if len(runs) > _RUNS:
        runs = runs[:_RUNS]
        more = with_query(f"/automations/{rule.id}", after=write_place(runs[-1].created_at, runs[-1].id))
    rotating = rotation_of(rule.actions) is not None
    return {
        "runs": runs, "more": more,
        "next": await preview(conn, organization_id, rule.id) if rotating else None,
        "turns": await turns_per_member(conn, organization_id, rule.id),
        "latest": await list_turns(conn, organization_id, rule.id, limit=10),
    }  # fmt: skip
