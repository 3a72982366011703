"""Every notice that the product opens is said in English to its last word."""

import re
from uuid import uuid4

import psycopg

from portaria.console.language import Language
from portaria.console.notice_words import say_body, say_title
from portaria.db.pool import Database
from portaria.intake import apply, tell
from tests.support.factory import Factory

ENGLISH, PORTUGUESE = Language("en"), Language("pt_BR")
# Letters and words that no English sentence has.
LEFT_OVER = re.compile(r"[ãõçáéíóúâêô]|\b(não|uma?|do|da|pelo|com|foi|veio)\b", re.IGNORECASE)


async def test_what_intake_tells(
    pool: Database, make_shared: Factory, shared_owner: psycopg.Connection
) -> None:
    organization, row = make_shared.organization(), uuid4()
    async with pool.connection() as conn:
        await tell.not_in_crm(conn, organization, row)
        await tell.unattended(conn, organization, row, None)
        await tell.out_of_contract(conn, organization, row, ("message.id", "sender"))
        for why in ("missing", "too short", "not decryptable"):
            await tell.secret_unreadable(conn, make_shared.organization(), None, why)
        for why in ("O corpo passou do tamanho permitido.", "O corpo veio compactado."):
            await tell.delivery_refused(conn, make_shared.organization(), why, 3)
    _all_english(shared_owner)


def test_what_the_provider_s_states_tell() -> None:
    for sentence in apply._TROUBLE.values():
        body = f"{sentence}. Motivo informado: out of money. Resolva no painel do provedor."
        said = say_body(ENGLISH, body)
        assert not LEFT_OVER.search(said), said
        assert "out of money" in said
    assert say_title(ENGLISH, tell.number_title("+5511", "suspended")) == "Number +5511: SUSPENDED"
    assert say_title(ENGLISH, tell.template_title("oi", "REJECTED")) == "Template &#34;oi&#34;: REJECTED"


def test_what_accounts_tells(make_shared: Factory, shared_owner: psycopg.Connection) -> None:
    from portaria.accounts import lost

    for kind in (lost._AWAY, lost._FORMAT):
        said = say_body(
            ENGLISH,
            f"{kind.why} Recusas desde o último aviso: 3. O accounts desiste na terceira tentativa:"
            " confira nele os eventos que faltam e peça o reenvio.",
        )
        assert not LEFT_OVER.search(said), said
    body = "O evento e1 (x) falhou três vezes: boom. bang. Corrija a causa e reprocesse-o em Chegadas."
    assert say_body(ENGLISH, body) == (
        "The event e1 (x) failed three times: boom. bang. Correct the cause, and reprocess it in Arrivals."
    )


def test_words_of_somebody_s_own_stay_theirs_and_are_escaped_where_shown() -> None:
    own = "<img src=x> Ligue já."
    assert say_title(ENGLISH, own) == own
    assert say_body(PORTUGUESE, own) == own
    assert say_body(ENGLISH, own) == "&lt;img src=x&gt; Ligue já."


def _all_english(owner: psycopg.Connection) -> None:
    rows = owner.execute("SELECT title, body FROM notices").fetchall()
    assert len(rows) >= 5
    for title, body in rows:
        for said in (say_title(ENGLISH, title), say_body(ENGLISH, body)):
            assert not LEFT_OVER.search(said), said
