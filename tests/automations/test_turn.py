"""The turn, sentence by sentence of spec 4, called the way psql would."""

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.rotation import TURN, Desk, fixed, rotation


def skipped(reason: str) -> dict[str, str]:
    return {"status": "skipped", "reason": reason}


def test_the_first_turn_is_the_top_and_the_queue_wraps(desk: Desk) -> None:
    a, b, c = desk.members("Ana", "Bia", "Caio")
    rule = desk.rule(rotation(a, b, c))
    outcomes = [desk.turn(rule) for _ in range(4)]
    assert outcomes[0] == {"status": "assigned", "user_id": str(a), "nome": "Ana", "posicao": 1}
    assert [o["nome"] for o in outcomes] == ["Ana", "Bia", "Caio", "Ana"]
    assert [o["posicao"] for o in outcomes] == [1, 2, 3, 1]


def test_the_turn_is_written_with_everybody_considered_and_the_owner_set(desk: Desk) -> None:
    a, b = desk.members("Ana", "Bia")
    (gone,) = desk.members("Guto")
    (viewer,) = desk.members("Vera", role="viewer")
    stranger = desk.make.user("Estranho")
    desk.conn.execute("UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s", (gone,))
    rule = desk.rule(rotation(a, gone, viewer, stranger, b, paused=(a,)))
    lead, event = desk.lead()
    assert desk.turn(rule, lead, event) == {
        "status": "assigned", "user_id": str(b), "nome": "Bia", "posicao": 5
    }  # fmt: skip
    [(kept_event, kept_lead, user, posicao, candidates)] = desk.conn.execute(
        "SELECT event_id, lead_id, user_id, posicao, candidates FROM automation_rodizio_atribuicoes"
        " WHERE rule_id = %s",
        (rule,),
    ).fetchall()
    assert (kept_event, kept_lead, user, posicao) == (event, lead, b, 5)
    assert [(c["user_id"], c["posicao"], c["reason"]) for c in candidates] == [
        (str(a), 1, "pausado"), (str(gone), 2, "revogado"), (str(viewer), 3, "viewer"),
        (str(stranger), 4, "fora_da_organizacao"), (str(b), 5, None),
    ]  # fmt: skip
    assert desk.owner_of(lead) == b
    assert desk.value("SELECT assigned_at IS NOT NULL FROM crm_leads WHERE id = %s", lead)


def test_the_same_event_gets_its_turn_again_whatever_changed(desk: Desk) -> None:
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    lead, event = desk.lead()
    first = desk.turn(rule, lead, event)
    desk.turn(rule)
    desk.set_actions(rule, fixed(b))
    desk.conn.execute("UPDATE automation_rules SET is_active = false WHERE id = %s", (rule,))
    assert desk.turn(rule, lead, event) == first
    assert len(desk.turns(rule)) == 2


@pytest.mark.parametrize("change", ["is_active = false", "deleted_at = now()", "actions = '[]'"])
def test_a_rule_that_is_off_gone_or_without_rotation_is_sem_rodizio(desk: Desk, change: str) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a))
    desk.conn.execute(f"UPDATE automation_rules SET {change} WHERE id = %s", (rule,))
    lead, event = desk.lead()
    assert desk.turn(rule, lead, event) == skipped("sem_rodizio")
    assert desk.turn(uuid4(), lead, event) == skipped("sem_rodizio")
    assert desk.owner_of(lead) is None
    assert desk.turns(rule) == []


def test_edited_to_a_fixed_owner_is_sem_rodizio(desk: Desk) -> None:
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    desk.set_actions(rule, fixed(b))
    assert desk.turn(rule) == skipped("sem_rodizio")


def test_a_lead_that_is_gone_is_lead_inexistente(desk: Desk) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead()
    desk.conn.execute("DELETE FROM crm_leads WHERE id = %s", (lead,))
    assert desk.turn(rule, lead, event) == skipped("lead_inexistente")
    desk.set_actions(rule, fixed(a))
    assert desk.turn(rule, lead, event) == skipped("sem_rodizio"), "the rule is looked at first"


def test_a_claim_by_hand_stands(desk: Desk) -> None:
    """H10: no turn, no event, no push."""
    a, z = desk.members("Ana", "Zeca")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead()
    desk.conn.execute("UPDATE crm_leads SET owner_user_id = %s WHERE id = %s", (z, lead))
    assigned = desk.events("lead.assigned")
    assert desk.turn(rule, lead, event) == skipped("ja_tem_dono")
    assert desk.owner_of(lead) == z
    assert desk.events("lead.assigned") == assigned
    assert desk.turns(rule) == []


def test_an_owner_taken_away_since_the_event_counts_as_a_difference_too(desk: Desk) -> None:
    a, z = desk.members("Ana", "Zeca")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead(owner=z)
    desk.conn.execute("UPDATE crm_leads SET owner_user_id = NULL WHERE id = %s", (lead,))
    assert desk.turn(rule, lead, event) == skipped("ja_tem_dono")


def test_all_paused_or_nobody_in_the_queue_is_ninguem_disponivel_and_the_next_lead_is_right(
    desk: Desk,
) -> None:
    """H3."""
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    desk.turn(rule)
    desk.set_actions(rule, rotation(a, b, paused=(a, b)))
    lead, event = desk.lead()
    assert desk.turn(rule, lead, event) == skipped("ninguem_disponivel")
    assert desk.owner_of(lead) is None
    desk.set_actions(rule, rotation())
    assert desk.turn(rule) == skipped("ninguem_disponivel")
    desk.set_actions(rule, rotation(a, paused=(a,)))
    assert desk.turn(rule) == skipped("ninguem_disponivel")
    assert desk.turns(rule) == [a]
    desk.set_actions(rule, rotation(a, b))
    assert desk.turn(rule)["nome"] == "Bia", "the order goes on where it was"


def test_an_event_that_is_missing_or_anothers_raises(desk: Desk) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a))
    lead, _ = desk.lead()
    other = Desk.open(desk.conn, desk.make)
    _, foreign = other.lead()
    for wrong in (uuid4(), foreign):
        with pytest.raises(psycopg.errors.NoDataFound):
            desk.turn(rule, lead, wrong)
    assert desk.owner_of(lead) is None


def test_a_rule_or_a_lead_of_another_organization_is_refused(desk: Desk) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead()
    other = Desk.open(desk.conn, desk.make)
    foreign_lead, foreign_event = other.lead()
    foreign_rule = other.rule(rotation(*other.members("Olga")))
    assert desk.turn(foreign_rule, lead, event) == skipped("sem_rodizio")
    assert desk.turn(rule, foreign_lead, event) == skipped("lead_inexistente")
    assert other.turn(rule, foreign_lead, foreign_event) == skipped("sem_rodizio")
    assert other.owner_of(foreign_lead) is None


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_above_read_committed_the_call_is_refused(desk: Desk, level: str) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead()
    with desk.conn.transaction(force_rollback=True):
        desk.conn.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        with pytest.raises(psycopg.errors.InvalidTransactionState):
            desk.conn.execute(TURN, (desk.org, rule, lead, event))
    assert desk.turns(rule) == []


def test_a_queue_changed_by_sql_alone_is_obeyed(desk: Desk) -> None:
    a, b, c = desk.members("Ana", "Bia", "Caio")
    rule = desk.rule(rotation(a, b))
    assert desk.turn(rule)["nome"] == "Ana"
    desk.conn.execute(
        "UPDATE automation_rules SET actions = jsonb_set(actions, '{0,config,fila}', %s) WHERE id = %s",
        (Jsonb([{"user_id": str(c)}, {"user_id": str(a), "pausado": False}]), rule),
    )
    assert [desk.turn(rule)["nome"] for _ in range(3)] == ["Caio", "Ana", "Caio"]


def test_rubbish_in_a_hand_edited_queue_is_passed_over(desk: Desk) -> None:
    (a,) = desk.members("Ana")
    odd = [{"user_id": "nobody"}, {}, "text", 7, None, {"user_id": str(a), "pausado": "false"}]
    rule = desk.rule({"type": "assign_owner", "config": {"modo": "rodizio", "fila": odd}})
    assert desk.turn(rule)["posicao"] == 6
    desk.set_actions(rule, {"type": "assign_owner", "config": {"modo": "rodizio", "fila": {"a": 1}}})
    assert desk.turn(rule) == skipped("ninguem_disponivel")


class TestWhoIsNext:
    """The first eligible after the member of the newest turn, in today's order, wrapping."""

    def names(self, desk: Desk, rule: UUID, count: int) -> str:
        return "".join(desk.turn(rule)["nome"] for _ in range(count))

    def test_a_reordered_queue_goes_on_after_the_last_member(self, desk: Desk) -> None:
        a, b, c, d = desk.members(*"ABCD")
        rule = desk.rule(rotation(a, b, c, d))
        assert self.names(desk, rule, 2) == "AB"
        desk.set_actions(rule, rotation(d, b, a, c))
        assert self.names(desk, rule, 4) == "ACDB"

    def test_after_a_member_who_left_the_search_starts_at_their_position(self, desk: Desk) -> None:
        a, b, c, d = desk.members(*"ABCD")
        rule = desk.rule(rotation(a, b, c, d))
        assert self.names(desk, rule, 2) == "AB"
        desk.set_actions(rule, rotation(a, c, d))
        assert self.names(desk, rule, 4) == "CDAC"

    def test_a_last_member_who_left_from_the_end_means_the_top(self, desk: Desk) -> None:
        a, b, c, d = desk.members(*"ABCD")
        rule = desk.rule(rotation(a, b, c, d))
        assert self.names(desk, rule, 4) == "ABCD"
        desk.set_actions(rule, rotation(a, b))
        assert self.names(desk, rule, 3) == "ABA"

    def test_somebody_added_last_gets_a_lead_within_one_cycle(self, desk: Desk) -> None:
        """H5."""
        a, b, c, e = desk.members(*"ABCE")
        rule = desk.rule(rotation(a, b, c))
        assert self.names(desk, rule, 2) == "AB"
        desk.set_actions(rule, rotation(a, b, c, e))
        assert self.names(desk, rule, 4) == "CEAB"

    def test_a_newcomer_catches_up_with_nobody(self, desk: Desk) -> None:
        """H6: one of the next four, not as many as the others have."""
        a, b, c, d = desk.members(*"ABCD")
        rule = desk.rule(rotation(a, b, c))
        self.names(desk, rule, 9)
        desk.set_actions(rule, rotation(a, b, c, d))
        assert self.names(desk, rule, 8).count("D") == 2

    def test_only_this_rules_own_turns_count(self, desk: Desk) -> None:
        a, b = desk.members(*"AB")
        one, other = desk.rule(rotation(a, b)), desk.rule(rotation(a, b))
        assert self.names(desk, one, 1) == "A"
        assert self.names(desk, other, 1) == "A"
        assert self.names(desk, one, 1) == "B"

    @pytest.mark.parametrize(
        "leaving",
        ["revoked_at = now()", "role = 'viewer'"],
    )
    def test_nobody_without_access_gets_one_and_the_order_goes_on(self, desk: Desk, leaving: str) -> None:
        """H2."""
        a, b, c = desk.members(*"ABC")
        rule = desk.rule(rotation(a, b, c))
        assert self.names(desk, rule, 1) == "A"
        desk.conn.execute(f"UPDATE user_organizations SET {leaving} WHERE user_id = %s", (b,))
        assert self.names(desk, rule, 3) == "CAC"
        desk.conn.execute(
            "UPDATE user_organizations SET revoked_at = NULL, role = 'agent' WHERE user_id = %s", (b,)
        )
        assert self.names(desk, rule, 3) == "ABC"


@pytest.mark.parametrize("title", ["\x01\x02", "😀" * 255, "'; DROP TABLE x; --", '{"a": "\\\\u0000"}', " "])
def test_no_name_makes_a_lead_unassignable(desk: Desk, title: str) -> None:
    """E17. NUL cannot be stored at all; the fact's payload holds nothing that a person typed."""
    (a,) = desk.members("Ana \\u0000")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead(title=title)
    assert desk.turn(rule, lead, event)["status"] == "assigned"
    assigned = desk.event(lead, "lead.assigned")
    payload = desk.value("SELECT payload::text FROM event_log WHERE id = %s", assigned)
    assert title.strip() == "" or title not in payload


def test_the_fact_says_which_rule_caused_it_and_what_follows_does_not(desk: Desk) -> None:
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead()
    with desk.conn.transaction():
        desk.turn(rule, lead, event)
        desk.conn.execute("UPDATE crm_leads SET owner_user_id = %s WHERE id = %s", (b, lead))
    rows = desk.conn.execute(
        "SELECT payload ->> 'owner_user_id', metadata FROM event_log WHERE event_type = 'lead.assigned'"
        " AND entity_id = %s ORDER BY seq",
        (lead,),
    ).fetchall()
    assert rows == [
        (str(a), {"caused_by_rule": str(rule), "event_id": str(event)}),
        (str(b), {}),
    ]


def test_a_turn_that_leaves_the_owner_as_it_was_makes_no_fact(desk: Desk) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead(owner=a)
    before = desk.events("lead.assigned")
    assert desk.turn(rule, lead, event)["status"] == "assigned"
    assert desk.events("lead.assigned") == before
    assert desk.turns(rule) == [a]
