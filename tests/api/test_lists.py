"""Lists: keyset pages of every kind, without gap or repetition, and what their filters leave."""

from typing import Any
from uuid import UUID

import psycopg
from litestar import Litestar

from tests.api.test_matrix import table
from tests.api.world import OPERATOR, House, World

LISTS = {
    "/api/v1/members": 6, "/api/v1/channels": 1, "/api/v1/conversations": 1, "/api/v1/notices": 1,
    "/api/v1/leads": 1, "/api/v1/webhook-events": 1, "/api/v1/incoming-events": 1, "/api/v1/audit": 1,
    "/api/v1/conversations/{conversation_id}/messages": 1, "/api/v1/automation-rules": 1,
    "/api/v1/automation-rules/{rule_id}/runs": 0,
}  # fmt: skip


async def walk(world: World, who: UUID, path: str, limit: int) -> list[dict[str, Any]]:
    """Every item, page by page."""
    items, cursor, pages = [], None, 0
    while True:
        mark = "&" if "?" in path else "?"
        query = f"{path}{mark}limit={limit}" + (f"&cursor={cursor}" if cursor else "")
        answer = await world.ask(who, "GET", query)
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["items"]) <= limit
        items += answer.json()["items"]
        cursor = answer.json()["next_cursor"]
        pages += 1
        assert pages < 50
        if cursor is None:
            return items


def copies(owner: psycopg.Connection, table_name: str, number: int, **changed: str) -> None:
    """More rows like the first, all of the same moment."""
    columns = [
        name
        for (name,) in owner.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_identity = 'NO'"
            " ORDER BY ordinal_position",
            (table_name,),
        ).fetchall()
    ]
    values = ", ".join(changed.get(c, "gen_random_uuid()" if c == "id" else c) for c in columns)
    owner.execute(
        f"INSERT INTO {table_name} ({', '.join(columns)})"  # type: ignore[arg-type]
        f" SELECT {values} FROM (SELECT * FROM {table_name} LIMIT 1) AS first,"
        f" generate_series(1, {number}) AS n"
    )


def test_the_lists_walked_here_are_all_there_are(app: Litestar) -> None:
    lists = {r.path for r in table(app) if r.method == "GET" and r.path.rsplit("/", 1)[-1].isidentifier()}
    plural = {p for p in lists | set(LISTS) if p.endswith("s")}
    assert plural | {"/api/v1/audit"} == set(LISTS)


async def test_every_list_is_walked_in_pages_without_gap_or_repetition(
    world: World, owner: psycopg.Connection
) -> None:
    house = world.house(1)
    owner.execute("DELETE FROM messages; UPDATE conversations SET last_message_at = NULL")
    owner.execute(
        "INSERT INTO messages (organization_id, id, conversation_id, contact_id, channel_session_id,"
        " direction, external_id, type, status, sent_at)"
        " SELECT organization_id, gen_random_uuid(), id, contact_id,"
        " channel_session_id, 'inbound', 'm' || n, 'text', 'received', '2026-12-01T12:00:00Z'"
        " FROM conversations, generate_series(1, 7) AS n"
    )
    copies(
        owner,
        "channel_sessions",
        6,
        account_id="'a' || n",
        phone_number="NULL",
        webhook_path_token="'token-long-' || n",
    )
    copies(owner, "conversations", 6, provider_conversation_id="'t-' || n")
    copies(owner, "notices", 6, title="'n' || n")
    copies(owner, "crm_leads", 6)
    copies(owner, "webhook_events_log", 6)
    copies(owner, "incoming_events", 6, event_id="'e' || n")
    copies(owner, "api_audit_log", 6)
    owner.execute(
        "UPDATE users SET is_operator = true; UPDATE user_organizations SET created_at = '2026-12-01'"
    )
    wrong = {}
    for path, few in LISTS.items():
        url = path.format(**house.ids)
        items = await walk(world, house.people["admin"], url, limit=3)
        whole = await walk(world, house.people["admin"], url, limit=200)
        keys = [item.get("id") or item["user_id"] for item in items]
        if items != whole or len(set(keys)) != len(keys) or (few and len(keys) < (6 if few == 6 else few)):
            wrong[path] = len(keys)
    assert wrong == {}
    assert len(await walk(world, house.people["admin"], "/api/v1/leads?owner=none", 3)) == 7


async def test_arrivals_are_found_by_the_id_that_the_provider_gave(
    world: World, owner: psycopg.Connection
) -> None:
    """In pages too, one's own alone, and with the other conditions."""
    house = world.house(1)
    copies(owner, "webhook_events_log", 6, external_id="CASE WHEN n < 5 THEN 'wamid.7' ELSE 'wamid.8' END")
    named = "/api/v1/webhook-events?external_id=wamid.7"
    items = await walk(world, house.people["admin"], named, 2)
    assert {(item["external_id"], item["organization_id"]) for item in items} == {("wamid.7", str(house.id))}
    assert [item["id"] for item in items] == sorted((item["id"] for item in items), reverse=True)
    [status] = {item["status"] for item in items}
    others = {"received", "processed", "error", "dead"} - {status}
    for other in others:
        assert await walk(world, house.people["admin"], f"{named}&status={other}", 9) == []
    assert await walk(world, house.people["admin"], f"{named}&status={status}", 9) == items
    assert await walk(world, house.people["admin"], f"{named}&until=2020-01-01T00:00:00Z", 9) == []


async def test_operators_also_see_what_belongs_to_no_organization(
    world: World, owner: psycopg.Connection
) -> None:
    house = world.house(1)
    owner.execute(
        "INSERT INTO notices (id, kind, title) VALUES (gen_random_uuid(), 'delivery_refused', 'de ninguém')"
    )
    owner.execute(
        "INSERT INTO webhook_events_log (id, provider, raw_body) VALUES (gen_random_uuid(), 'zernio', 'x')"
    )
    owner.execute("INSERT INTO api_audit_log (id, action, actor) VALUES (gen_random_uuid(), 'a', 'b')")
    owner.execute(
        "UPDATE user_organizations SET role = 'manager' WHERE user_id = %s", (house.people[OPERATOR],)
    )
    for path in ("/api/v1/notices", "/api/v1/webhook-events", "/api/v1/audit"):
        seen = {
            who: sum(
                item["organization_id"] is None for item in await walk(world, house.people[who], path, 1)
            )
            for who in (OPERATOR, "admin")
        }
        assert seen == {OPERATOR: 1, "admin": 0}, path
    [notice] = owner.execute("SELECT id FROM notices WHERE organization_id IS NULL").fetchall()
    refused = await world.ask(house.people["admin"], "POST", f"/api/v1/notices/{notice[0]}/resolve")
    assert refused.status_code == 404
    done = await world.ask(house.people[OPERATOR], "POST", f"/api/v1/notices/{notice[0]}/resolve")
    assert (done.status_code, done.json()["status"]) == (200, "resolved")


async def test_who_may_see_leads_without_an_owner(world: World, owner: psycopg.Connection) -> None:
    """Provider facts 7: everybody, an agent by the organization's setting; a viewer reads alone."""
    house: House = world.house(1)

    async def seen(who: str) -> int:
        return len(await walk(world, house.people[who], "/api/v1/leads?owner=none", 50))

    assert [await seen(who) for who in ("viewer", "agent", "manager", "admin")] == [1, 1, 1, 1]
    changed = await world.ask(
        house.people["admin"], "PATCH", "/api/v1/organization", json={"agents_see_unowned": False}
    )
    assert changed.json()["agents_see_unowned"] is False
    assert [await seen(who) for who in ("viewer", "agent", "manager", "admin")] == [1, 0, 1, 1]
    hidden = await world.ask(house.people["agent"], "GET", f"/api/v1/leads/{house.ids['lead_id']}")
    assert hidden.status_code == 404
    owner.execute("UPDATE crm_leads SET owner_user_id = %s", (house.people["agent"],))
    assert len(await walk(world, house.people["agent"], "/api/v1/leads", 50)) == 1
    assert await seen("admin") == 0


FILTERS = [("status=open", 1), ("status=open&status=ack", 2), ("status=resolved", 0), ("kind=event_dead", 1)]


async def test_notices_are_filtered(world: World, owner: psycopg.Connection) -> None:
    house = world.house(1)
    copies(owner, "notices", 1, title="'seen'", status="'ack'", kind="'event_contract'")
    for query, count in FILTERS:
        found = await walk(world, house.people["viewer"], f"/api/v1/notices?{query}", 50)
        assert len(found) == count, query
