"""Organizations: made, changed, listed, each audited; nothing that cannot be a name or a zone gets in."""

from uuid import uuid4

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.identity.organizations import (
    OrganizationChange,
    create_organization,
    find_organization,
    list_organizations,
    update_organization,
)
from portaria.identity.users import set_locale, set_operator
from tests.support.factory import Factory


async def test_an_organization_is_made_and_changed_and_both_are_audited(
    db: Database, owner: psycopg.Connection
) -> None:
    async with db.connection() as conn:
        made = await create_organization(conn, name=" Loja Exemplo ", actor="cli")
        change = OrganizationChange(time_zone="America/Manaus", agents_see_unowned=False)
        changed = await update_organization(conn, made, change, actor="cli")
        assert [changed] == await list_organizations(conn)
    assert (changed.name, changed.time_zone, changed.agents_see_unowned) == (
        "Loja Exemplo", "America/Manaus", False,
    )  # fmt: skip
    entries = owner.execute("SELECT action, metadata FROM api_audit_log ORDER BY created_at").fetchall()
    assert entries == [
        ("organization.created", {}),
        ("organization.updated", {"fields": ["time_zone", "agents_see_unowned"]}),
    ]


async def test_what_cannot_be_is_refused_and_leaves_nothing(db: Database, owner: psycopg.Connection) -> None:
    async with db.connection() as conn:
        made = await create_organization(conn, name="Loja", actor="cli")
        for values, code in (
            ({"name": ""}, "invalid_name"),
            ({"name": "a\x00"}, "invalid_name"),
            ({"name": "x", "time_zone": "../../etc/passwd"}, "invalid_time_zone"),
            ({"name": "x", "locale": "fr"}, "invalid_locale"),
        ):
            with pytest.raises(Refusal, match=code):
                await create_organization(conn, **values, actor="cli")
            with pytest.raises(Refusal, match=code):
                await update_organization(conn, made, OrganizationChange(**values), actor="cli")
        for act in (
            find_organization(conn, uuid4()),
            update_organization(conn, uuid4(), OrganizationChange(), actor="cli"),
        ):
            with pytest.raises(Refusal, match="organization_not_found"):
                await act
    assert owner.execute("SELECT name FROM organizations").fetchall() == [("Loja",)]


async def test_a_users_language_and_operator_are_set(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    user = make.user()
    async with db.connection() as conn:
        await set_locale(conn, user, "en")
        await set_operator(conn, user, is_operator=True, actor="cli")
        with pytest.raises(Refusal, match="invalid_locale"):
            await set_locale(conn, user, "xx")
        with pytest.raises(Refusal, match="user_not_found"):
            await set_operator(conn, uuid4(), is_operator=True, actor="cli")
    assert owner.execute("SELECT locale, is_operator FROM users").fetchall() == [("en", True)]
    assert owner.execute("SELECT action, organization_id FROM api_audit_log").fetchall() == [
        ("user.operator_set", None)
    ]
