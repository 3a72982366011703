"""The opt-out rule on families of phrases, and its promises on any text (`provider.md` 6, spec 2.3 T2)."""

import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from portaria.intake.opt_out import LOOKED_AT, asks_to_leave
from portaria.intake.opt_out_grammar import MAY_ASK, RULES, Rule
from portaria.intake.opt_out_words import KEYWORDS, LEXICON
from tests.intake.opt_out_phrases import MUST_BLOCK, MUST_NOT_BLOCK, NOT_UNDERSTOOD

BLOCKING = [phrase for family in MUST_BLOCK.values() for phrase in family]
HARMLESS = [phrase for family in MUST_NOT_BLOCK.values() for phrase in family]
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\u2069\ufe0f\u0301\u0000"
EDGES = " \t\n.,;:!?…*_~-—()[]#🙏🛑👍🏽❤️"


def phrases() -> st.SearchStrategy[str]:
    return st.sampled_from(BLOCKING + HARMLESS)


def any_text() -> st.SearchStrategy[str]:
    """Lone surrogates, NUL and unassigned characters included."""
    return st.text(st.characters(exclude_categories=()))


def without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


@pytest.mark.parametrize("family", MUST_BLOCK)
def test_asks_to_leave(family: str) -> None:
    assert [phrase for phrase in MUST_BLOCK[family] if not asks_to_leave(phrase)] == []


@pytest.mark.parametrize("family", MUST_NOT_BLOCK)
def test_does_not_ask_to_leave(family: str) -> None:
    assert [phrase for phrase in MUST_NOT_BLOCK[family] if asks_to_leave(phrase)] == []


def test_no_text_asks_nothing() -> None:
    assert not asks_to_leave(None)


def test_what_the_rule_is_known_to_miss() -> None:
    assert [phrase for phrase in NOT_UNDERSTOOD if asks_to_leave(phrase)] == []


@pytest.mark.parametrize("keyword", sorted(KEYWORDS))
def test_keyword_counts_only_alone(keyword: str) -> None:
    assert asks_to_leave(keyword.upper() + "!")
    assert asks_to_leave(f"Bom dia. {keyword}, por favor. Obrigada")
    for more in ("12345", "amanhã", "o pedido", "a dor"):
        assert not asks_to_leave(f"{keyword} {more}")


STEMS_THAT_ASK = {
    "stop": (
        "pode parar de|parem de|pare de|por favor parem de|quero que parem de|para de"
        "|peço que parem de|favor parar de|gostaria que vocês parassem de|tem como parar de|deixem de"
        "|já pedi para pararem de|é pra parar de|chega de|será que dá pra parar de"
        "|vcs tem que parar de|vocês precisam parar de",
        "me mandar mensagem|mandar mensagens|me enviar msg|me escrever|me chamar|me ligar"
        "|mandar msg pra mim|me mandar propaganda|me enviar promoções|me mandar nada"
        "|entrar em contato|ficar me ligando|me mandar mensagens no whatsapp",
    ),
    "no more": (
        "não quero mais|não quero|não desejo mais|não desejo|não gostaria de|não gostaria mais de"
        "|eu não quero mais|não tenho interesse em|não tenho mais interesse em|prefiro não"
        "|gostaria de não|quero parar de|desejo parar de|como faço para parar de|quero deixar de"
        "|não aceito",
        "receber mensagens|receber suas mensagens|receber mensagem de vocês|receber msg"
        "|receber propagandas|receber ofertas|receber nada de vocês|receber esse tipo de mensagem"
        "|receber mensagens desse número|receber notificações|receber SMS|receber contato de vocês",
    ),
    "do not": (
        "não me mande mais|não me mandem mais|não me envie mais|n me mande mais|não mande mais"
        "|não enviem mais|nunca mais me mandem|não me manda mais|favor não enviar mais"
        "|por favor não me mande mais|peço que não me enviem mais|já falei pra não mandar mais"
        "|não quero que me mandem mais",
        "mensagem|mensagens|msg|nada|propaganda|promoções|nenhuma mensagem|esse tipo de mensagem"
        "|mensagem nesse número|spam|mensagem pro meu celular",
    ),
    "off the list": (
        "me tira|me tire|me tirem|me remova|me remove|me exclua|me exclui|me retira"
        "|quero que me tirem|favor me remover|pode me tirar|gostaria de ser removido|quero sair"
        "|como sair|posso sair|gostaria de sair|solicito minha remoção",
        "da lista|dessa lista|desta lista|da sua lista|da lista de vocês|da lista de transmissão"
        "|da lista de mensagens|dessa lista aí|da lista, obrigado",
    ),
    "cancel": (
        "quero cancelar|gostaria de cancelar|cancelar|cancela|cancelem|pode cancelar|como cancelar"
        "|favor cancelar|preciso cancelar|por favor cancele",
        "a inscrição|minha inscrição|o envio de mensagens|o recebimento de mensagens|as mensagens"
        "|a newsletter",
    ),
    "forget my number": (
        "apaga|apague|remove|remova|exclui|excluam|deleta|favor remover|pode excluir"
        "|quero que removam|solicito a exclusão do|peço a remoção do",
        "meu número|meu contato|meu telefone|meu número da lista|meu contato da lista de vocês",
    ),
}
STEMS_THAT_DO_NOT = {
    "of something else": (
        "pode parar de|parem de|para de|não quero mais|não me mande mais|quero cancelar"
        "|não quero receber|como faço para parar|quero parar|chega de|cancela|me tira|remove"
        "|não me envie mais|vocês param de",
        "boleto|o pedido|a consulta|a dor|reclamar|fumar|na esquina|o catálogo|fotos|áudio"
        "|receber boletos|mandar boletos|mandar o motoboy|receber ligação|a compra|atender"
        "|enviar o link|mandar mensagem de cobrança|o plano|receber a fatura impressa"
        "|mandar mensagem no grupo|da fila",
    ),
    "denied, past or another's": (
        "não parem de|não para de|não quero parar de|nunca parem de|ela pediu para parar de"
        "|meu filho quer parar de|se eu parar de|parei de|vocês pararam de|quando vocês param de"
        "|por que parou de|jamais parem de|minha mãe não quer parar de|quem parou de"
        "|não precisa parar de|vocês não param de|não podem parar de",
        "mandar mensagem|receber mensagens|enviar promoções|receber ofertas|me mandar mensagens",
    ),
    "in part": (
        "parem de me mandar mensagem|não quero mais receber mensagens|não me mandem mais mensagem",
        "de madrugada|à noite|aos domingos|de cobrança|do financeiro|sobre consórcio|no trabalho"
        "|antes das 8|até segunda|hoje|por enquanto|repetida|para o meu filho|com áudio|, só boleto"
        "|, prefiro email|, manda no email|, pode ligar|que não seja do meu pedido|às 6h"
        "|enquanto estou viajando|tão longa",
    ),
}


@pytest.mark.parametrize("family", STEMS_THAT_ASK)
def test_every_stopping_verb_with_every_object(family: str) -> None:
    stems, ends = (part.split("|") for part in STEMS_THAT_ASK[family])
    assert [(s, e) for s, e in product(stems, ends) if not asks_to_leave(f"{s} {e}")] == []


@pytest.mark.parametrize("family", STEMS_THAT_DO_NOT)
def test_every_stopping_verb_without_its_object(family: str) -> None:
    stems, ends = (part.split("|") for part in STEMS_THAT_DO_NOT[family])
    assert [(s, e) for s, e in product(stems, ends) if asks_to_leave(f"{s} {e}")] == []


@given(any_text())
def test_never_raises(text: str) -> None:
    assert asks_to_leave(text) in (True, False)


@given(any_text(), phrases(), any_text())
def test_never_raises_around_a_phrase(before: str, phrase: str, after: str) -> None:
    assert asks_to_leave(before + phrase + after) in (True, False)


@given(phrases(), st.sampled_from([str.upper, str.lower, str.title, str.swapcase, str.casefold]))
def test_case_does_not_matter(phrase: str, recased: Callable[[str], str]) -> None:
    assert asks_to_leave(recased(phrase)) == asks_to_leave(phrase)


@given(phrases(), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_accents_do_not_matter(phrase: str, form: str) -> None:
    expected = asks_to_leave(phrase)
    assert asks_to_leave(without_accents(phrase)) == expected
    assert asks_to_leave(unicodedata.normalize(form, phrase)) == expected  # type: ignore[arg-type]


@given(phrases(), st.text(EDGES, max_size=6), st.text(EDGES, max_size=6))
def test_edge_punctuation_does_not_matter(phrase: str, before: str, after: str) -> None:
    assume(not phrase.startswith(">"))  # a mark of its own there: a quoted line
    assert asks_to_leave(before + phrase + after) == asks_to_leave(phrase)


@given(phrases(), st.data())
def test_invisible_characters_do_not_matter(phrase: str, data: st.DataObject) -> None:
    spots = data.draw(st.lists(st.integers(0, len(phrase)), max_size=8))
    dotted = phrase
    for spot in sorted(spots, reverse=True):
        dotted = dotted[:spot] + data.draw(st.sampled_from(INVISIBLE)) + dotted[spot:]
    assert asks_to_leave(dotted) == asks_to_leave(phrase)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a ",
        "mais ",
        "não quero que vc me ",
        "se parem de me mandar mensagem ",
        "parem de ficar me mais ",
        "mensagem da loja de vocês ",
        "\u0301\u0323",  # marks out of order: quadratic in NFKC, were they not dropped first
        "\ufdfa",  # one character that NFKC makes eighteen
        '"“',
        ">\n",
        " - ",
        "🙏",
        "\u200b",
        "\x00",
        "\ud800",
    ],
)
def test_ten_million_characters_take_well_under_a_second(unit: str) -> None:
    text = unit * (10_000_000 // len(unit))
    started = time.process_time()
    asks_to_leave(text)
    assert time.process_time() - started < 0.7


def test_only_the_head_of_an_endless_message_is_read() -> None:
    assert asks_to_leave("Parem de me mandar mensagem. " + "a" * LOOKED_AT)
    assert not asks_to_leave("a " * LOOKED_AT + ". Parem de me mandar mensagem.")
    # What is cut off might have gone on: a keyword is not alone, a phrase not whole.
    assert not asks_to_leave("sair" + " " * LOOKED_AT + "antes das 15h")
    assert not asks_to_leave("Parem de mandar mensagem" + " " * LOOKED_AT + "de cobrança")


def test_vocabulary_is_folded_and_no_word_has_two_classes() -> None:
    words = [word for entry in LEXICON.values() for word in entry.split()]
    assert [word for word, times in Counter(words).items() if times > 1] == []
    assert [word for word in words if without_accents(word).lower() != word] == []


@pytest.mark.parametrize("rule", RULES, ids=range(len(RULES)))
def test_no_rule_is_passed_over_unread(rule: Rule) -> None:
    @settings(max_examples=10, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(rule.pattern))
    def holds_what_is_looked_for(classes: str) -> None:
        assert MAY_ASK.search(classes)

    holds_what_is_looked_for()
