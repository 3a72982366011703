"""Every route tried by everybody who must not: the matrix comes from the route table (spec 6).

A new route is tried at once; one with a parameter or a body that stands nowhere below fails until it does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import jwt
import pytest
from litestar import Litestar
from litestar.routes import HTTPRoute

from portaria.api import ApiDeps
from portaria.identity.principal import Role
from portaria.identity.sign_in import SignedIn
from tests.api.world import OPERATOR, House, World

ROLES = [*(role.name for role in Role), OPERATOR]
# Its own password, not the organization's rows: tried elsewhere.
ANSWERS_403_TO_ANYBODY = {"/api/v1/auth/password"}


@dataclass(frozen=True)
class Tried:
    """A route and what it needs. `path` still holds its parameters' names."""

    method: str
    path: str
    role: Any
    parameters: tuple[str, ...]

    def url(self, house: House) -> str:
        return self.path.format(**{name: house.ids[name] for name in self.parameters})

    def refuses(self, role: str) -> bool:
        if self.role == OPERATOR:
            return role != OPERATOR
        return (Role.viewer if role == OPERATOR else Role[role]) < self.role

    def body(self, house: House, who: UUID) -> dict[str, Any] | None:
        """A good body, sent by `who`, that names rows of `house` wherever it can."""
        ids = {k: str(v) for k, v in house.ids.items()}
        fixed = {"type": "assign_owner", "config": {"user_id": ids["user_id"]}}
        bodies: dict[tuple[str, str], dict[str, Any] | None] = {
            ("POST", "/api/v1/auth/sign-out-everywhere"): None,
            ("POST", "/api/v1/auth/password"): {"current_password": "x", "new_password": "nova-senha-1"},
            ("PATCH", "/api/v1/organization"): {"agents_see_unowned": True},
            ("POST", "/api/v1/members"): {
                "email": f"{uuid4()}@exemplo.test", "name": "x", "role": "agent", "password": "senha-nova-1",
            },
            ("PATCH", "/api/v1/members/{user_id}"): {"role": "manager"},
            ("POST", "/api/v1/channels"): {"provider": "zernio_social", "account_id": str(uuid4())},
            ("POST", "/api/v1/channels/{channel_id}/rotate-secret"): {},
            ("POST", "/api/v1/channels/{channel_id}/archive"): None,
            ("POST", "/api/v1/conversations/{conversation_id}/read"): {"through": 9},
            ("POST", "/api/v1/contacts/{contact_id}/unblock"): None,
            ("POST", "/api/v1/contacts/{contact_id}/erase"): None,
            ("POST", "/api/v1/leads"): {"name": "Lia", "email": "lia@exemplo.test"},
            ("PATCH", "/api/v1/leads/{lead_id}"): {"title": "outro"},
            ("POST", "/api/v1/leads/{lead_id}/assign"): {"owner_user_id": str(who)},
            ("POST", "/api/v1/automation-rules"): {
                "name": "x", "trigger_event": "lead.created", "actions": [fixed],
            },
            ("PATCH", "/api/v1/automation-rules/{rule_id}"): {"name": "outra"},
            ("POST", "/api/v1/notices/{notice_id}/ack"): None,
            ("POST", "/api/v1/notices/{notice_id}/resolve"): None,
            ("POST", "/api/v1/webhook-events/{event_id}/replay"): None,
            ("POST", "/api/v1/incoming-events/{row_id}/reprocess"): None,
        }  # fmt: skip
        return bodies[self.method, self.path] if self.method in ("POST", "PATCH", "PUT") else None


def table(app: Litestar) -> Iterator[Tried]:
    """The routes that need a token."""
    for route in app.routes:
        if isinstance(route, HTTPRoute) and route.path.startswith("/api/"):
            for handler in route.route_handlers:
                if handler.opt.get("public"):
                    continue
                for method in set(handler.http_methods) - {"OPTIONS"}:
                    yield Tried(
                        str(method), route.path_format, handler.opt.get("role"), tuple(route.path_parameters)
                    )


def test_every_route_declares_who_may_use_it(app: Litestar) -> None:
    routes = list(table(app))
    assert len(routes) > 30
    assert [r for r in routes if not isinstance(r.role, Role) and r.role != OPERATOR] == []


@pytest.mark.parametrize("role", ROLES)
async def test_nobody_reads_or_changes_another_organizations_rows(
    app: Litestar, world: World, role: str
) -> None:
    theirs, ours = world.house(1), world.house(2)
    before = world.fingerprint(theirs)
    who = ours.people[role]
    wrong = []
    for route in sorted(table(app), key=lambda r: "sign-out" in r.path):
        answer = await world.ask(who, route.method, route.url(theirs), json=route.body(theirs, who))
        if route.refuses(role) or route.path in ANSWERS_403_TO_ANYBODY:
            right = answer.status_code == 403
        elif "row_id" in route.parameters or route.path == "/api/v1/incoming-events":
            right = answer.status_code == 200  # the installation's own, for any operator
        elif route.parameters:
            right = answer.status_code == 404
        elif route.path == "/api/v1/automation-rules" and route.method == "POST":
            right = answer.status_code == 422  # names a stranger
        else:
            right = answer.status_code in (200, 201, 204)
        if not right or str(theirs.id) in answer.text.replace(f"evt-{theirs.id}", ""):
            wrong.append((route.method, route.path, answer.status_code, answer.text))
        outside = await world.ask(
            who, route.method, route.url(theirs), json=route.body(theirs, who), organization=theirs.id
        )
        if outside.status_code not in (401, 403):
            wrong.append((route.method, route.path, "as of theirs", outside.status_code))
    assert wrong == []
    assert world.fingerprint(theirs) == before


@pytest.mark.parametrize("role", ROLES)
async def test_in_ones_own_organization_the_declared_role_decides(
    app: Litestar, world: World, role: str
) -> None:
    house = world.house(1)
    who = house.people[role]
    wrong = []
    for route in sorted(table(app), key=lambda r: ("sign-out" in r.path, r.method == "DELETE")):
        if route.path in ANSWERS_403_TO_ANYBODY:
            continue
        answer = await world.ask(who, route.method, route.url(house), json=route.body(house, who))
        if (answer.status_code == 403) != route.refuses(role) or answer.status_code in (401, 422, 500, 503):
            wrong.append((route.method, route.path, answer.status_code, answer.text))
    assert wrong == []


async def test_without_a_good_token_no_route_answers(app: Litestar, world: World, deps: ApiDeps) -> None:
    house = world.house(1)
    admin, now = house.people["admin"], datetime.now(UTC)
    key = deps.box.derive("api tokens")
    claims = {"iss": "portaria", "sub": str(admin), "epoch": 0, "iat": now, "exp": now + timedelta(60)}
    bad = {
        "nothing": {},
        "no scheme": {"Authorization": world.token(admin)},
        "basic": {"Authorization": "Basic YTpi"},
        "expired": _bearer(deps.tokens.issue(SignedIn(admin, 0), now=now - timedelta(hours=1))),
        "unsigned": _bearer(jwt.encode(claims, None, algorithm="none")),
        "other algorithm": _bearer(jwt.encode(claims, key * 2, algorithm="HS512")),
        "other key": _bearer(jwt.encode(claims, b"x" * 32, algorithm="HS256")),
        "signed out since": _bearer(world.token(admin, epoch=-1)),
        "unknown user": _bearer(world.token(uuid4())),
        "not ascii": {"Authorization": "Bearer caf\xe9".encode("latin-1")},
    }
    before = world.fingerprint(house)
    wrong = []
    for route in table(app):
        for what, headers in bad.items():
            answer = await world.client.request(
                route.method, route.url(house), json=route.body(house, admin), headers=headers
            )
            if answer.status_code != 401 or answer.headers["content-type"] != "application/problem+json":
                wrong.append((what, route.method, route.path, answer.status_code))
    assert wrong == []
    assert world.fingerprint(house) == before


async def test_options_answers_without_a_token_and_without_content(app: Litestar, world: World) -> None:
    house = world.house(1)
    for route in table(app):
        answer = await world.client.options(route.url(house))
        assert (answer.status_code, answer.content) == (204, b""), route.path
        assert "OPTIONS" in answer.headers["allow"], route.path


async def test_a_revoked_member_sees_nothing(app: Litestar, world: World) -> None:
    house = world.house(1)
    admin = house.people["admin"]
    world.owner.execute("UPDATE user_organizations SET revoked_at = now() WHERE role = 'admin'")
    wrong = []
    for route in table(app):
        answer = await world.ask(admin, route.method, route.url(house), json=route.body(house, admin))
        if answer.status_code != 403 or answer.json()["code"] != "not_a_member":
            wrong.append((route.method, route.path, answer.status_code))
    assert wrong == []


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
