"""What can be done over HTTP: read, resolve, unblock, replay, reprocess, members, channels, rules."""

import asyncio
import base64
from datetime import UTC, datetime

import psycopg

from portaria.intake.providers import samples
from tests.api.conftest import BOX
from tests.api.world import OPERATOR, World


async def test_two_tabs_resolve_one_notice_and_both_succeed(world: World, owner: psycopg.Connection) -> None:
    """Case I4, over HTTP: one audit line, for the one that did it."""
    house = world.house(1)
    path = f"/api/v1/notices/{house.ids['notice_id']}/resolve"
    answers = await asyncio.gather(*(world.ask(house.people["agent"], "POST", path) for _ in range(2)))
    assert [(a.status_code, a.json()["status"]) for a in answers] == [(200, "resolved")] * 2
    late = await world.ask(house.people["agent"], "POST", path.replace("resolve", "ack"))
    assert late.json()["status"] == "resolved"
    audited = owner.execute(
        "SELECT action, actor FROM api_audit_log WHERE resource_kind = 'notice'"
    ).fetchall()
    assert audited == [("notice.resolved", str(house.people["agent"]))]


async def test_a_conversation_is_read_up_to_what_was_shown(world: World) -> None:
    house = world.house(1)
    agent, conversation = house.people["agent"], f"/api/v1/conversations/{house.ids['conversation_id']}"
    [message] = (await world.ask(agent, "GET", f"{conversation}/messages")).json()["items"]
    assert message["body"] == house.mark
    read = await world.ask(agent, "POST", f"{conversation}/read", json={"through": message["arrival"]})
    assert read.json() == {"unread_count": 0}
    assert (await world.ask(agent, "GET", conversation)).json()["unread_count"] == 0
    assert (await world.ask(agent, "GET", "/api/v1/conversations?unread=true")).json()["items"] == []


async def test_a_contact_is_unblocked_by_a_person_and_audited(
    world: World, owner: psycopg.Connection
) -> None:
    house = world.house(1)
    path = f"/api/v1/contacts/{house.ids['contact_id']}/unblock"
    for _ in range(2):
        assert (await world.ask(house.people["agent"], "POST", path)).json() == {"is_blocked": False}
    audited = owner.execute("SELECT actor FROM api_audit_log WHERE action = 'contact.unblocked'").fetchall()
    assert audited == [(str(house.people["agent"]),)]


async def test_a_dead_message_is_replayed_and_shown_with_its_bytes(
    world: World, owner: psycopg.Connection
) -> None:
    house = world.house(1)
    manager, event = house.people["manager"], house.ids["event_id"]
    path = f"/api/v1/webhook-events/{event}"
    shown = (await world.ask(manager, "GET", path)).json()
    assert shown["body"] == {"encoding": "utf-8", "content": house.mark, "bytes": len(house.mark)}
    refused = await world.ask(manager, "POST", f"{path}/replay")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_a_message")
    account = owner.execute("SELECT account_id FROM channel_sessions").fetchone()[0]
    message = {"external_id": "wamid.R1", "phone": "+5511900000001", "sent_at": datetime.now(UTC)}
    owner.execute(
        "UPDATE webhook_events_log SET raw_body = %s",
        (samples.encode(samples.message_received(account, text="Olá", **message)),),
    )
    replayed = await world.ask(manager, "POST", f"{path}/replay")
    assert (replayed.status_code, replayed.json()["outcome"]) == (200, "ingested"), replayed.text
    assert replayed.json()["event"]["status"] == "processed"
    again = await world.ask(manager, "POST", f"{path}/replay")
    assert again.json()["outcome"] == "duplicate"
    assert owner.execute("SELECT count(*) FROM messages WHERE external_id = 'wamid.R1'").fetchone() == (1,)
    audited = owner.execute("SELECT actor FROM api_audit_log WHERE action = 'webhook.replayed'").fetchall()
    assert audited == [(str(manager),)] * 2


async def test_odd_bytes_are_shown_so_that_they_can_be_had_back(
    world: World, owner: psycopg.Connection
) -> None:
    house = world.house(1)
    raw = b'{"a": 12345678901234567890123, "b": "\xff\x00"}'
    owner.execute("UPDATE webhook_events_log SET raw_body = %s", (raw,))
    body = (
        await world.ask(house.people["manager"], "GET", f"/api/v1/webhook-events/{house.ids['event_id']}")
    ).json()["body"]
    assert base64.b64decode(body["content"]) == raw
    assert body["encoding"] == "base64"


async def test_an_operator_reprocesses_a_failed_event_once(world: World, owner: psycopg.Connection) -> None:
    house = world.house(1)
    operator, path = house.people[OPERATOR], f"/api/v1/incoming-events/{house.ids['row_id']}"
    answer = await world.ask(operator, "POST", f"{path}/reprocess")
    assert (answer.status_code, answer.json()["status"], answer.json()["attempts"]) == (200, "pending", 0)
    again = await world.ask(operator, "POST", f"{path}/reprocess", json={"force": False})
    assert (again.status_code, again.json()["code"]) == (409, "pending")
    owner.execute("UPDATE incoming_events SET status = 'processed', processed_at = now()")
    assert (await world.ask(operator, "POST", f"{path}/reprocess")).status_code == 409
    forced = await world.ask(operator, "POST", f"{path}/reprocess", json={"force": True})
    assert forced.status_code == 200
    [(jobs,)] = owner.execute("SELECT count(*) FROM procrastinate_jobs").fetchall()
    assert jobs == 2


async def test_members_are_added_changed_and_revoked(world: World, owner: psycopg.Connection) -> None:
    house = world.house(1)
    admin = house.people["admin"]
    new = {"email": "lia@exemplo.test", "name": "Lia", "role": "agent"}
    added = (await world.ask(admin, "POST", "/api/v1/members", json=new)).json()
    assert len(added["password"]) >= 16
    path = f"/api/v1/members/{added['user_id']}"
    taken = await world.ask(admin, "POST", "/api/v1/members", json=new)
    assert (taken.status_code, taken.json()["code"]) == (409, "already_a_member")
    assert (await world.ask(admin, "PATCH", path, json={"role": "manager"})).json()["role"] == "manager"
    assert (await world.ask(admin, "PATCH", path, json={"role": "dono"})).status_code == 422
    owner.execute("UPDATE crm_leads SET owner_user_id = %s", (added["user_id"],))
    assert (await world.ask(admin, "DELETE", path)).status_code == 204
    assert owner.execute("SELECT owner_user_id FROM crm_leads").fetchone() == (None,)
    former = (await world.ask(admin, "GET", path)).json()
    assert former["revoked_at"] is not None
    last = await world.ask(admin, "DELETE", f"/api/v1/members/{admin}")
    assert (last.status_code, last.json()["code"]) == (409, "last_admin")


async def test_a_channels_secret_is_shown_once_and_never_again(
    world: World, owner: psycopg.Connection
) -> None:
    house = world.house(1)
    admin = house.people["admin"]
    request = {"provider": "zernio", "account_id": "conta-9", "phone_number": "+55 11 98765-4321"}
    made = (await world.ask(admin, "POST", "/api/v1/channels", json=request)).json()
    assert made["url"].startswith("https://crm.exemplo.test/api/v1/webhooks/channel/")
    path = f"/api/v1/channels/{made['id']}"
    rotated = (await world.ask(admin, "POST", f"{path}/rotate-secret", json={"keep_hours": 1})).json()
    [(current, previous)] = owner.execute(
        "SELECT secret_ciphertext, previous_secret_ciphertext FROM channel_sessions WHERE id = %s",
        (made["id"],),
    ).fetchall()
    assert [BOX.decrypt(current), BOX.decrypt(previous)] == [rotated["secret"], made["secret"]]
    taken = await world.ask(admin, "POST", "/api/v1/channels", json=request)
    assert (taken.status_code, taken.json()["code"]) == (409, "phone_taken")
    archived = await world.ask(admin, "POST", f"{path}/archive")
    assert archived.json()["archived_at"] is not None
    shown = "".join(
        [
            (await world.ask(admin, "GET", p)).text
            for p in (path, "/api/v1/channels?archived=true", "/api/v1/audit")
        ]
    )
    assert made["secret"] not in shown
    assert rotated["secret"] not in shown


async def test_a_rule_is_made_changed_by_version_and_deleted(world: World) -> None:
    house = world.house(1)
    manager, agent = house.people["manager"], house.people["agent"]
    queue = [{"user_id": str(agent), "pausado": False}, {"user_id": str(manager), "pausado": True}]
    rule = {
        "name": "Rodízio", "trigger_event": "lead.created",
        "actions": [{"type": "assign_owner", "config": {"modo": "rodizio", "fila": queue}}],
    }  # fmt: skip
    made = await world.ask(manager, "POST", "/api/v1/automation-rules", json=rule)
    assert made.status_code == 201, made.text
    assert made.json()["actions"] == rule["actions"]
    path = f"/api/v1/automation-rules/{made.json()['id']}"
    following = (await world.ask(agent, "GET", f"{path}/next")).json()
    assert following["next"]["user_id"] == str(agent)
    assert [c["reason"] for c in following["order"]] == [None, "pausado"]
    headers = {"If-Match": made.headers["etag"]}
    changed = await world.ask(manager, "PATCH", path, json={"is_active": False}, headers=headers)
    assert (changed.status_code, changed.json()["is_active"]) == (200, False)
    stale = await world.ask(manager, "PATCH", path, json={"is_active": True}, headers=headers)
    assert (stale.status_code, stale.json()["code"]) == (412, "rule_changed")
    for bad in (
        {"name": "x", "nothing": 1},
        {"actions": []},
        {"actions": [{"type": "assign_owner", "config": {"user_id": str(house.id)}}]},
        {"actions": rule["actions"] * 2},
        {"actions": [{"type": "assign_owner", "config": {"modo": "rodizio", "fila": [queue[0]] * 2}}]},
    ):
        assert (await world.ask(manager, "PATCH", path, json=bad)).status_code == 422, bad
    assert (await world.ask(manager, "DELETE", path)).status_code == 204
    assert (await world.ask(manager, "GET", path)).status_code == 404
    assert (await world.ask(manager, "GET", f"{path}/runs")).status_code == 200
