"""Does a message ask us to stop writing? The rule for pt-BR, with a little English (spec 2.3, T2).

Two forms ask to leave: a keyword alone in the message, or a stopping phrase with an object of communication
("parem de me mandar mensagem", "não quero mais receber propaganda", "me tira da lista").

Whoever asks twice complains; whoever is blocked without asking vanishes. So a phrase counts only if the whole
of it is understood:
- its words become classes (`opt_out_words.py`) and fit a pattern (`opt_out_grammar.py`) up to the phrase's
  end: an unknown word in it ("mensagens *de cobrança*", "lista *de espera*", "*de madrugada*") makes it a
  partial refusal or something else;
- what stands before it in its clause does not turn it around: a negation ("não para de"), a condition ("se eu
  parar"), another person ("minha mãe quer parar"), the sender's own writing ("vou parar de mandar");
- nothing in the message asks for other messages instead ("manda aqui", "só boleto"), laughs or quotes us.

Decided, where people may differ: asking *how* to leave is asking to leave; "parem de me ligar" is (`ligar` is
an object of communication), "não quero receber ligação" is not (it refuses calls only); refusing propaganda
or offers is; "não precisa mandar" and complaints ("vocês não param de mandar") are not; sighs ("me deixa em
paz") name no object and are not.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from portaria.intake.opt_out_grammar import (
    DENIED,
    LEFT,
    MAY_ASK,
    OWN_ACT,
    REDIRECTED,
    RULES,
    SYMBOL,
    TURNED,
    Rule,
    compiled,
)
from portaria.intake.opt_out_words import KEYWORDS, LEXICON

# The longest text a WhatsApp client sends. What lies beyond counts as one word that nobody knows.
LOOKED_AT: Final = 65_536
_BEFORE: Final = 12  # how many words before a phrase may turn it around


def _symbols(*names: str) -> frozenset[str]:
    return frozenset(SYMBOL[name] for name in names)


_CLASS_OF: Final = {
    entry.replace("_", " "): SYMBOL[name] for name, words in LEXICON.items() for entry in words.split()
} | {",": SYMBOL["PAUSE"], ".": SYMBOL["BREAK"]}
_UNKNOWN: Final = SYMBOL["UNKNOWN"]
_LONGEST_FROM: Final[dict[str, int]] = {}
for _phrase in _CLASS_OF:
    if " " in _phrase:
        _first, _length = _phrase.split(" ")[0], _phrase.count(" ") + 1
        _LONGEST_FROM[_first] = max(_length, _LONGEST_FROM.get(_first, 1))
_COURTESY: Final = _symbols("POLITE", "GREET", "PAUSE", "BREAK")
# What may stand around a phrase that must be all the message says.
_AFTER_ALL: Final = _COURTESY | _symbols("FILL", "NOW")
_BEFORE_ALL: Final = _AFTER_ALL | _symbols(
    *("AND", "BUT", "ONLY", "ASK", "SAID", "WANT", "DE", "MAY", "WAY", "HOW", "ICAN", "YOU", "I", "ME"),
    *("IN", "PARA", "THAT", "BE", "STOP"),
)
_TOWARDS_SENDER: Final = _symbols("ME", "RECEIVE", "ARRIVE")
_CLAUSE_ENDS: Final = compiled("[PAUSE BREAK]")
_PLEASE: Final = compiled("PAUSE POLITE+ PAUSE (?= DE) | POLITE")

_INVISIBLE: Final = frozenset({"Mn", "Mc", "Me", "Cf", "Cc"})
_SPACES: Final = frozenset("\n\r\t\x0b\x0c\x85")
_REMEMBERED: Final = 4_096


class _Without(dict[int, str | None]):
    """A table for `str.translate` that leaves characters out, and remembers what it decided."""

    def __init__(self, left_out: Callable[[str], bool]) -> None:
        super().__init__()
        self._left_out = left_out

    def __missing__(self, code: int) -> str | None:
        kept = None if self._left_out(chr(code)) else chr(code)
        if len(self) < _REMEMBERED:
            self[code] = kept
        return kept


_VISIBLE: Final = _Without(lambda c: c not in _SPACES and unicodedata.category(c) in _INVISIBLE)
_BARE: Final = _Without(lambda c: unicodedata.combining(c) != 0)
_SENTENCE_ENDS: Final = frozenset(".!?;\n")
_TOKEN: Final = re.compile(r"[^\W_]+|\+|[.!?;\n]|(?<=\s)-+(?=\s)|[^\w\s:'\"*~\-\[\]{}#]")
_LINK: Final = re.compile(r"://|www\.|\.(?:com|net|org|br)\b|@")


def asks_to_leave(text: str | None) -> bool:
    """Whether the sender asks to receive no more messages. Never raises, takes linear time.

    Of a longer text only the first `LOOKED_AT` characters are read.
    """
    phrases = _phrases(_words(_folded(text or "")))
    if _is_keyword(phrases):
        return True
    said = _PLEASE.sub("", "".join(symbol for _, symbol in phrases))
    classes = f"{SYMBOL['BREAK']}{said}{SYMBOL['BREAK']}"
    if not MAY_ASK.search(classes) or REDIRECTED.search(classes):
        return False
    return any(_stands(rule, found) for rule in RULES for found in rule.pattern.finditer(classes))


def _folded(text: str) -> str:
    """Compatible forms made equal, lower case, without accents, invisible characters and drawn-out letters.

    Accents go before NFKC too: a long run of them costs it quadratic time in Pythons without gh-149079.
    """
    head = text[:LOOKED_AT]
    visible = head.translate(_VISIBLE)
    plain = unicodedata.normalize("NFKC", visible)
    decomposed = unicodedata.normalize("NFD", plain[:LOOKED_AT].lower())
    bare = decomposed.translate(_BARE)
    drawn_in = re.sub(r"([^\W\d_])\1{2,}", r"\1", bare)
    return drawn_in if max(len(text), len(plain)) <= LOOKED_AT else f"{drawn_in} unread"


def _words(folded: str) -> list[str]:
    """Words; `,` for a pause (an emoji is one), `.` for the end of a sentence or line."""
    own = _without_quotes(folded.replace("e-mail", "email").replace("’", "'"))
    if _LINK.search(own):
        own = " ".join("link" if _LINK.search(chunk) else chunk for chunk in own.split(" "))
    text = re.sub(r"\b([cp])/", r"\1 ", own).replace("'", "")  # "p/ mim", "don't"
    marks = dict.fromkeys(_SENTENCE_ENDS, ".")
    return [t if t[0].isalnum() or t == "+" else marks.get(t, ",") for t in _TOKEN.findall(text)]


def _without_quotes(text: str) -> str:
    """What is quoted inside a longer message is somebody's words, not a request: one unknown word instead."""
    lines = text.splitlines()
    own = "\n".join([line for line in lines if not line.lstrip().startswith(">")] or lines)
    parts = re.sub(r"[“”„«»]", '"', own).split('"')
    if any(c.isalnum() for part in parts[0::2] for c in part):
        parts[1:-1:2] = ["quoted"] * len(parts[1:-1:2])
    return " ".join(parts)


def _phrases(words: list[str]) -> list[tuple[str, str]]:
    """Each known phrase, the longest first, with the symbol of its class."""
    phrases = []
    at = 0
    while at < len(words):
        phrase, length = words[at], 1
        if phrase in _LONGEST_FROM:
            for more in range(min(_LONGEST_FROM[phrase], len(words) - at), 1, -1):
                if (tried := " ".join(words[at : at + more])) in _CLASS_OF:
                    phrase, length = tried, more
                    break
        phrases.append((phrase, _CLASS_OF.get(phrase, _UNKNOWN)))
        at += length
    return phrases


def _is_keyword(phrases: list[tuple[str, str]]) -> bool:
    """A keyword alone in the message, courtesy apart."""
    said = [phrase for phrase, symbol in phrases if symbol not in _COURTESY]
    return bool(said) and (KEYWORDS.issuperset(said) or " ".join(said) in KEYWORDS)


def _stands(rule: Rule, found: re.Match[str]) -> bool:
    """Whether what surrounds the phrase leaves its meaning as it is."""
    classes, start = found.string, found.start()
    before = _CLAUSE_ENDS.split(classes[max(0, start - _BEFORE) : start])[-1]
    if TURNED.search(before) or not LEFT[rule.left].search(before):
        return False
    if rule.left == "infinitive" and DENIED.search(before):
        return False
    if rule.ours and OWN_ACT.search(before) and _TOWARDS_SENDER.isdisjoint(found[0]):
        return False
    return not rule.whole or (
        _BEFORE_ALL.issuperset(classes[:start]) and _AFTER_ALL.issuperset(classes[found.end() :])
    )
