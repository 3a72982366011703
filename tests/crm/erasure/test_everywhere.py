"""The proof (spec 2.5): words planted in every text field of a person through the real doors are nowhere
in a dump after the person was erased, in no disguise; what history points to is still there.
"""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

from portaria.db.embedded import EmbeddedServer
from portaria.intake.providers import samples
from portaria.notices import open_notice
from tests.conftest import TestDatabase
from tests.crm.erasure.desk import House, Person
from tests.support.dump import dump, found_in

RULE = {
    "name": "Rodízio", "trigger_event": "lead.created",
    "actions": [
        {"type": "add_tag", "config": {"tag": "novo"}},
        {"type": "notify", "config": {"title": "Chegou um lead", "body": "Veja."}},
    ],
}  # fmt: skip


def plant(house: House, who: Person) -> set[str]:
    """Leaves traces of `who` in every place there is; returns the words to look for."""
    account, w = house.channel.account_id, who.word
    rule = dict(RULE)
    rotation = {"modo": "rodizio", "fila": [{"user_id": str(house.admin), "pausado": False}]}
    rule["actions"] = [*RULE["actions"], {"type": "assign_owner", "config": rotation}]  # type: ignore[misc]
    assert house.api("POST", "/automation-rules", json=rule).status_code == 201

    first = who.message(
        house, w("texto"), metadata={"referral": {"headline": w("anuncio"), "ctwa_clid": w("clique")}},
        attachments=[{"type": "file", "url": f"https://arquivos.test/{w('arquivo')}", "name": w("anexo")}],
    )  # fmt: skip
    assert house.deliver(first).status_code == 200
    house.settled()
    edited_at = datetime.now(UTC) + timedelta(minutes=1)
    edit = samples.edited(
        account, who.external_id(1), who.phone, w("corrigido"), edited_at, who.thread,
        earlier=[w("antes")],
    )  # fmt: skip
    assert house.deliver(edit).json()["status"] == "processed"
    out = samples.message_sent(
        account, who.external_id(99), who.phone, w("resposta"), edited_at, w("nome"), who.thread
    )
    assert house.deliver(out).status_code == 200
    house.settled()
    failed = samples.outcome(
        "failed", account, who.external_id(99), who.phone, edited_at + timedelta(minutes=1),
        who.thread,
        error={"code": 131047, "title": w("titulo"), "message": w("erro"), "explanation": w("porque")},
    )  # fmt: skip
    assert house.deliver(failed).json()["status"] == "processed"

    # What was refused, or broke the contract, is archived too.
    assert (
        house.deliver(who.message(house, w("recusado")), secret="outro-segredo-0123456789").status_code == 401
    )
    assert house.deliver(who.message(house, w("nada")).__repr__().encode()).status_code == 400
    house.deliver(who.message(house, w("contrato")) | {"message": {"text": w("quebrado"), "id": who.thread}})
    assert house.deliver({**who.message(house, w("reacao")), "event": "message.reacted"}).status_code == 200
    escaped = json.dumps(who.message(house, w("escapado"))).replace(
        "+5511", "\\u002b\\u0035\\u0035\\u0031\\u0031"
    )
    assert house.deliver(escaped.encode()).status_code == 200

    typed = f"({who.phone[3:5]}) {who.phone[5:10]}-{who.phone[10:]}"
    email = f"{w('correio').lower()}@exemplo.test"
    for _ in range(2):
        sent = house.submit(
            name=w("cadastro"), phone=typed, email=email, note=w("recado"), idempotency_key=w("chave")
        )
        assert sent.status_code == 303
    assert house.submit(name="", phone=typed, email=w("semarroba"), note=w("recusada")).status_code == 422
    assert house.deliver(who.message(house, "PARAR")).status_code == 200
    house.settled()

    contact = house.contact_of(who.phone)
    lead = house.rows("SELECT id FROM crm_leads WHERE contact_id = %s ORDER BY id", contact)[0][0]
    changed = house.api("PATCH", f"/leads/{lead}", json={"title": w("assunto"), "tags": [w("etiqueta")]})
    assert changed.status_code == 200
    assert house.api("POST", f"/contacts/{contact}/unblock").status_code == 200
    assert house.deliver(who.message(house, "SAIR")).status_code == 200
    house.settled()
    house.desk.do(lambda: tell(house, lead, w("aviso"), f"{w('corpo')} {who.phone}"))
    audited = json.dumps({"name": w("auditoria"), "external_id": w("idexterno"), "to": str(house.admin)})
    house.owner.execute(
        "INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id, metadata)"
        " VALUES (gen_random_uuid(), %s, 'lead.changed', 'plugin', 'lead', %s, %s)",
        (house.id, str(lead), audited),
    )
    house.settled()
    words = [
        "nome", "texto", "anuncio", "clique", "arquivo", "anexo", "corrigido", "antes", "resposta", "titulo",
        "erro", "porque", "recusado", "nada", "quebrado", "reacao", "escapado", "cadastro", "correio",
        "recado", "chave", "recusada", "semarroba", "assunto", "etiqueta", "aviso", "corpo", "auditoria",
        "idexterno", "usuario",
    ]  # fmt: skip
    ids = {who.phone[1:], who.phone[3:], typed, who.scoped_id, who.thread, email}
    return {w(word) for word in words} | ids


async def tell(house: House, lead: UUID, title: str, body: str) -> None:
    """A notice of somebody else's making that names the person."""
    async with house.desk.db.connection() as conn:
        await open_notice(
            conn, organization_id=house.id, kind="plugin", severity="info", title=title, body=body,
            resource_kind="lead", resource_id=lead,
        )  # fmt: skip


def test_nothing_of_an_erased_person_is_left_anywhere(
    house: House, server: EmbeddedServer, database: TestDatabase
) -> None:
    who, other = Person(654321), Person(123987)
    planted = plant(house, who)
    assert house.deliver(other.message(house, other.word("texto"))).status_code == 200
    house.settled()
    before = dump(server.bin_dir, database.owner_url)
    assert planted - found_in(before, planted) == set(), "planted badly: this would prove nothing"
    contact = house.contact_of(who.phone)
    kept = history(house)

    answer = house.api("POST", f"/contacts/{contact}/erase")
    assert answer.status_code == 200, answer.text
    assert answer.json()["erased_at"] is not None
    assert answer.json()["counts"]["messages"] == 5

    after = dump(server.bin_dir, database.owner_url)
    assert found_in(after, planted) == set()
    assert found_in(after, {other.word("texto"), other.phone[1:]}) == {other.word("texto"), other.phone[1:]}
    assert history(house) == kept
    assert house.one("SELECT is_blocked FROM contacts WHERE id = %s", contact)
    assert house.one("SELECT count(*) FROM notices WHERE title = 'Chegou um lead' AND status = 'open'") == 1


def history(house: House) -> dict[str, object]:
    """What must still be there afterwards: every row, who had which turn, what each run came to."""
    counted = (
        "contacts",
        "conversations",
        "messages",
        "crm_leads",
        "event_log",
        "webhook_events_log",
        "notices",
    )
    return {
        **{table: house.one(f"SELECT count(*) FROM {table}") for table in counted},
        "turns": house.rows("SELECT rule_id, seq, event_id, lead_id, user_id, posicao, candidates"
                            " FROM automation_rodizio_atribuicoes ORDER BY seq"),
        "runs": house.rows("SELECT id, status, actions_result FROM automation_rule_runs ORDER BY id"),
        "owners": house.rows("SELECT id, status, stage, owner_user_id FROM crm_leads ORDER BY id"),
        "facts": house.rows(
            "SELECT seq, event_type, entity_id, payload ->> 'lead_id', payload ->> 'owner_user_id'"
            " FROM event_log ORDER BY seq"
        ),
        "arrivals": house.rows(
            "SELECT id, status, valid_signature, attempts FROM webhook_events_log ORDER BY id"
        ),
    }  # fmt: skip
