"""Pages cost the same however much there is: each query that could read all of it reads little, by an index.

Two organizations with 20,000 contacts, leads, conversations and turns each; the archive is nearly all the
other's, and what died in it that of many more. As a page reads: the tenant's role and organization, no
parallel workers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Database
from portaria.db.queries import load_queries
from tests.conftest import TestDatabase
from tests.intake.backroom import one_database
from tests.support.factory import Factory

MANY = 20_000
FEW_BLOCKS = 1000
"""Each look into an index is three or four; a search looks into one 200 times before it asks another."""

LARGE = {
    "contacts", "conversations", "crm_leads", "automation_rodizio_atribuicoes", "webhook_events_log",
}  # fmt: skip

FILL = """
SET session_replication_role = replica;
INSERT INTO contacts (organization_id, id, name, phone_number)
SELECT %(org)s, gen_random_uuid(), 'Cliente ' || n, '+5521' || (900000000 + n)
FROM generate_series(1, %(many)s) AS n;
INSERT INTO conversations (
    organization_id, id, contact_id, channel_session_id, provider_conversation_id, last_message_at)
SELECT %(org)s, id, id, %(channel)s, id, now() - interval '1 s' * row_number() OVER (ORDER BY name)
FROM contacts WHERE organization_id = %(org)s;
INSERT INTO crm_leads (organization_id, id, contact_id, title, source, stage, owner_user_id, created_at)
SELECT %(org)s, id, id, name, 'whatsapp', CASE WHEN name = 'Cliente 77' THEN 'proposta' ELSE 'new' END,
    CASE WHEN hashtext(name) %% 5 <> 0 THEN %(member)s END,
    now() - interval '1 s' * row_number() OVER (ORDER BY name)
FROM contacts WHERE organization_id = %(org)s;
INSERT INTO automation_rodizio_atribuicoes (organization_id, rule_id, event_id, lead_id, user_id, posicao)
SELECT %(org)s, %(rule)s, gen_random_uuid(), id, %(member)s, 1 FROM contacts WHERE organization_id = %(org)s;
INSERT INTO webhook_events_log (
    id, organization_id, provider, raw_body, status, valid_signature, external_id, processed_at)
SELECT (lpad(to_hex(n + %(first)s), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, %(org)s,
    'zernio', '', 'processed', true, 'm' || n, now()
FROM generate_series(1, %(arrivals)s) AS n;
"""
DEAD = """
INSERT INTO webhook_events_log (
    id, organization_id, provider, raw_body, status, valid_signature, processed_at)
SELECT gen_random_uuid(), gen_random_uuid(), 'zernio', '', 'dead', true, now() FROM generate_series(1, %s)
"""


@dataclass(frozen=True)
class House:
    database: TestDatabase
    organization: UUID
    member: UUID
    rule: UUID
    large: UUID
    """The other organization, whose the archive is."""


@pytest.fixture(scope="module")
def house(server: EmbeddedServer) -> Iterator[House]:
    with one_database(server, "page_plans") as database:
        with psycopg.connect(
            database.owner_url, autocommit=True, cursor_factory=psycopg.ClientCursor
        ) as owner:
            ours = fill(owner, first=0, arrivals=200)
            large = fill(owner, first=1_000_000, arrivals=3 * MANY)
            owner.execute(DEAD, [MANY])
            owner.execute("VACUUM ANALYZE")
        yield House(database, *ours, large=large[0])


def fill(owner: psycopg.Connection, *, first: int, arrivals: int) -> tuple[UUID, UUID, UUID]:
    make = Factory(owner)
    org = make.organization()
    member, rule = make.member(org), UUID(int=first + 1)
    channel = make.channel(org, phone_number=None).id
    given = {"org": org, "channel": channel, "member": member, "rule": rule, "many": MANY, "first": first}
    owner.execute(FILL, {**given, "arrivals": arrivals})
    return org, member, rule


LEADS: dict[str, Any] = {
    "everything": True, "owner": None, "unowned": False, "status": "open", "stage": None, "contact_id": None,
    "after_at": None, "after_id": None, "limit": 15,
}  # fmt: skip
SEARCH = {"text": "Cliente 1777", "like": "%Cliente 1777%", "digits": None, "phone": None, "limit": 40}
ARRIVALS: dict[str, Any] = {
    "nobodys": False, "statuses": ["processed", "error", "dead", "received"], "event_type": None, "limit": 51,
    "since": None, "until": None, "before": None,
}  # fmt: skip
NAMED = {"external_id": "m7", "everybodys": False, "status": None}
BROWSE = {
    **ARRIVALS, "channel_session_id": None, "text": None, "walk": 51, "pending": False,
    "from": UUID(int=0), "before": UUID(int=(1 << 128) - 1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "more", "index"),
    [
        ("crm.board.count_stages", {}, "crm_leads_stage"),
        ("crm.board.count_unowned", {}, "crm_leads_unowned"),
        ("crm.board.search_latest_leads", {**SEARCH, "window": 200}, "crm_leads_recent"),
        ("crm.board.search_leads", SEARCH, "crm_leads_contact"),
        ("crm.board.search_latest_conversations", {**SEARCH, "window": 200}, "conversations_recent"),
        ("crm.board.search_conversations", SEARCH, "conversations_contact"),
        ("crm.leads.list_leads", {**LEADS, "stage": "proposta"}, "crm_leads_stage"),
        ("crm.leads.list_leads", {**LEADS, "contact_id": UUID(int=9)}, "crm_leads_contact"),
        ("automations.turns_per_member", {"since": None}, "automation_rodizio_atribuicoes_pkey"),
        ("intake.list_arrivals", ARRIVALS, "webhook_events_log_browse"),
        ("intake.list_named_arrivals", {**ARRIVALS, **NAMED}, "webhook_events_log_named"),
        ("intake.overview.browse", {**BROWSE, "statuses": ["dead"]}, "webhook_events_log_browse"),
        ("intake.overview.browse_named", {**BROWSE, **NAMED}, "webhook_events_log_named"),
    ],
)
async def test_a_page_reads_a_few_blocks_of_its_index(
    house: House, query: str, more: dict[str, Any], index: str
) -> None:
    await reads_little(house, house.organization, query, more, index)


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ("intake.list_arrivals", ARRIVALS),
        ("intake.overview.browse", {**BROWSE, "statuses": ["dead"]}),
        ("intake.overview.walked_to", {**BROWSE, "statuses": ["dead"]}),
    ],
)
async def test_none_of_a_status_is_found_without_passing_all_the_others(
    house: House, query: str, more: dict[str, Any]
) -> None:
    """Nearly all of the archive is theirs, and a quarter of it dead: by the figures of each they would have
    many, and the primary key looks the shorter way to the newest of them. And there are many organizations:
    the policy's condition makes a large one look small, and all of it worth sorting.
    """
    await reads_little(house, house.large, query, more, "webhook_events_log_browse")


async def reads_little(
    house: House, organization: UUID, query: str, more: dict[str, Any], index: str
) -> None:
    given = {
        "organization_id": organization, "user_id": house.member, "rule_id": house.rule, "everything": True,
        **more,
    }  # fmt: skip
    made = list(nodes(await plan(house, organization, query, given)))
    assert index in {node.get("Index Name") for node in made if node["Actual Loops"]}
    whole = {n["Relation Name"] for n in made if n["Node Type"] == "Seq Scan" and n["Actual Loops"]}
    assert not whole & LARGE
    assert made[0]["Shared Hit Blocks"] + made[0]["Shared Read Blocks"] < FEW_BLOCKS
    # The policy's question is asked once, not in each row's filter.
    assert not [node for node in made if "current_setting" in node.get("Filter", "")]


async def test_a_word_is_found_by_the_index_of_its_parts(house: House) -> None:
    """Asked for in a function of the owner's, whose plan is no part of the query's."""
    with psycopg.connect(house.database.owner_url) as owner:
        owner.execute("SELECT set_config('portaria.organization_id', %s, true)", (str(house.organization),))
        owner.execute("SET LOCAL enable_seqscan = off")
        told = owner.execute(
            "EXPLAIN SELECT id FROM contacts c WHERE organization_id = fn_current_organization()"
            " AND fn_grams(c.organization_id, c.name, c.username, c.email, c.phone_number)"
            "  @> fn_grams(fn_current_organization(), 'Cliente 1777')"
        ).fetchall()
    assert "contacts_grams" in str(told)


def test_what_has_the_parts_of_a_number_and_not_the_number_is_not_looked_up(house: House) -> None:
    with psycopg.connect(house.database.owner_url) as owner:
        owner.execute("SELECT set_config('portaria.organization_id', %s, true)", (str(house.organization),))
        found = owner.execute(
            "SELECT phone_number FROM fn_contacts_like('900000077') AS known (id) JOIN contacts USING (id)"
        ).fetchall()
    assert found == [("+5521900000077",)]


async def plan(house: House, organization: UUID, query: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """As a page reads."""
    package, _, name = query.rpartition(".")
    db = Database(house.database.app_url, name="tests", size=1)
    await db.open()
    try:
        async with db.tenant(organization) as conn:
            if package.startswith("intake"):
                await conn.execute(load_queries(f"portaria.{package}")["walk_in_order"])
            explain = (
                b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
                + load_queries(f"portaria.{package}")[name].encode()
            )
            [([root],)] = await (await conn.execute(explain, parameters)).fetchall()
    finally:
        await db.close()
    return root["Plan"]  # type: ignore[no-any-return]


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)
