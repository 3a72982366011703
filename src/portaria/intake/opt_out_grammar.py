"""The phrases that ask to leave, as patterns over word classes (`opt_out_words.py`).

In a pattern a name in capitals is a class, `[A B]` one of several, and `*` means at most six times: no
repetition is unbounded, so matching is linear. PAUSE is a comma or the like, BREAK the end of a sentence,
UNKNOWN a word without a class.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from portaria.intake.opt_out_words import LEXICON

# One character per class, so that a pattern over classes is an ordinary regular expression.
SYMBOL: Final = {name: chr(0x4E00 + n) for n, name in enumerate(["PAUSE", "BREAK", "UNKNOWN", *LEXICON])}


def compiled(source: str) -> re.Pattern[str]:
    """A pattern over class names as one over class symbols."""
    bounded = source.replace("*", "{0,6}")
    return re.compile(re.sub(r"[A-Z]+", lambda name: SYMBOL[name[0]], bounded).replace(" ", ""))


Left = Literal["any", "infinitive", "opening", "asked"]


class Rule(NamedTuple):
    """`left`: what may stand before the phrase (`LEFT`). `whole`: nothing else may be said in the message.
    `ours`: it stops somebody's writing, which must be ours and not the sender's own."""

    left: Left
    pattern: re.Pattern[str]
    whole: bool = False
    ours: bool = False


Verbs = Iterable[tuple[Left, str]]


def _rule(left: Left, source: str, *, whole: bool = False, ours: bool = False) -> Rule:
    return Rule(left, compiled(source), whole, ours)


def _each(verbs: Verbs, source: str, *, whole: bool = False, ours: bool = False) -> list[Rule]:
    return [_rule(left, f"{verb} {source}", whole=whole, ours=ours) for left, verb in verbs]


# What is sent, by whom and through what, and what may follow up to the end of the phrase.
_NEWS = "[MSG MSGS ADS PROMO NEWS]"
_POST = "[MSG MSGS ADS NEWS]"
_ITEM = "[DET MORE]* (ENVIO [DE FROM] DET*)? [MSG MSGS ADS PROMO NEWS ZAP CONTACT ANY] KIND*"
_OBJECT = f"({_ITEM} (AND {_ITEM})?)"
_SURE = "[DET MORE]* [MSG MSGS ADS CONTACT NEWS]"
_SENDER = (
    "([DE FROM WITH IN] DET? YOU | [DE FROM] MY? [NUM PHONE ZAP CONTACT] | [FROM WITH] DET? BIZ UNKNOWN{0,2}"
    " | DET (?=[PAUSE BREAK]))"
)
_CHANNEL = "[IN PARA] DET? MY? [NUM PHONE ZAP ME HERE MSG MSGS CONTACT]"
_TAIL = f"([MORE ME KIND FILL HERE] | NEG MORE | DE [MSG MSGS ADS PROMO] | {_SENDER} | {_CHANNEL})*"
_STOP_THERE = f"{_TAIL} (?=[PAUSE BREAK])"
_LEAVING = (
    "STOP STOPINF PARA LET LEAVE REMOVE REMOVEINF REMOVENOW TAKE TAKEINF TAKENOW CANCEL CANCELINF CARRY"
)
# People seldom write the comma: a reason, a negation or another request may follow at once.
_NEXT = (
    "NOW? (?=[PAUSE BREAK]) | (?=NEG)"
    " | (?=THAT? ([REASON TO I ICAN YOU GREET FILL] | NEG [WANT CANT ALLOW ASK ICAN]))"
    f" | (?=AND [NEG ME {_LEAVING}])"
)
_END = f"{_TAIL} ({_NEXT})"

_LISTED = "[DET MY]* [LIST NEWS] (DE [LIST STREAM CONTACT ENVIO ZAP CLIENT MSG MSGS ADS PROMO NEWS]){0,2}"
_OURS = f"([FROM DE] ([DET MY]* [BASE CONTACT] | {_LISTED}))"
_MINE = "[FROM DE]? DET* MY [NUM PHONE CONTACT ZAP]"

_CALL = "(CALL | TOUCH | ENTER MORE? INTOUCH)"
_TOUCHSUBJ = "(TOUCH | ENTERSUBJ MORE? [INTOUCH CONTACT])"
_ACT = (
    f"[BE ME MORE]* (RECEIVE ({_OBJECT} | {_SENDER})? | SEND ME? ({_OBJECT} | {_SENDER})"
    f" | {_CALL} (ME | DET* NUM)? {_OBJECT}? | ARRIVE {_OBJECT}"
    f" | BOTHER ME? ([DET MY]* [NUM PHONE ZAP NERVES])? [WITH DE] {_ITEM})"
    f" (AND ME? [SEND CALL] ME? {_OBJECT}?)?"
)
_OPENERS = "[FILL GREET NOW AND BUT ONLY ASK]*"
_MORE = "(?=[^PAUSE BREAK]{0,9} MORE)"
_ME = "(?=[^PAUSE BREAK]{0,9} ME)"
_REFUSE = "NEG [I MORE YOU]* [WANT ALLOW] [DE TO MORE ME BE]*"

_STOPS: Final[Verbs] = (
    ("infinitive", "(STOPINF [FILL NOW]? DE? | LETINF DE)"),
    ("any", "(STOP [FILL NOW]? DE? | LET DE | ENOUGH DE | HYPO YOU? NEG YOU? STOPINF DE)"),
    ("opening", "[PARA LETNOW] [FILL NOW]? DE"),
)
_STOPS_IT: Final[Verbs] = (
    ("infinitive", f"STOPINF (WITH DET* {_POST} | DET* MSGS | WITH? DET* ENVIO [DE FROM] DET* {_NEWS})"),
    ("any", f"STOP (WITH DET* {_POST} | DET* [MSGS CONTACT] | WITH? DET* ENVIO [DE FROM] DET* {_NEWS})"),
    ("any", f"(ENOUGH [DE FROM] | STOP DE) DET* {_NEWS}"),
    ("opening", f"(PARA WITH DET* (ENVIO [DE FROM] DET*)? | PARA DE DET* | NOMORE DET*) {_POST}"),
)
_REMOVES: Final[Verbs] = (("infinitive", "REMOVEINF"), ("any", "REMOVE"), ("opening", "REMOVENOW"))
_TAKES_OFF: Final[Verbs] = (
    ("infinitive", "[REMOVEINF TAKEINF]"),
    ("any", "[REMOVE TAKE]"),
    ("opening", "[REMOVENOW TAKENOW]"),
)
_TAKES_ME_OFF: Final[Verbs] = (
    ("infinitive", "(ME? [REMOVEINF TAKEINF] | [REMOVEINF TAKEINF] ME)"),
    ("any", "(ME [REMOVE TAKE] | [REMOVE TAKE] ME)"),
    ("opening", "(ME [REMOVENOW TAKENOW] | [REMOVENOW TAKENOW] ME)"),
    ("any", f"(BE REMOVED | {_MINE} BE REMOVED | MY REMOVAL)"),
)
_CANCELS: Final[Verbs] = (("infinitive", "CANCELINF"), ("any", "CANCEL"), ("opening", "CANCELNOW"))

RULES: Final = (
    # "parem de me mandar mensagem", "quero parar de receber", "parem com as mensagens", "chega de propaganda"
    *_each(_STOPS, f"{_ACT} {_END}", ours=True),
    *_each(_STOPS, f"[BE ME]* SEND ME? {_STOP_THERE}", whole=True, ours=True),
    _rule("any", f"[MSG MSGS ADS] [PAUSE BREAK] {_OPENERS} STOP DE ME? SEND {_STOP_THERE}"),
    *_each(_STOPS_IT, _END),
    # "não quero mais receber nada de vocês", "não quero que me mandem mensagem", "dispenso propaganda"
    _rule("any", f"{_REFUSE} RECEIVE ({_OBJECT} | {_SENDER}) {_END}"),
    _rule("any", f"{_REFUSE} RECEIVE {_STOP_THERE}", whole=True),
    _rule("any", f"{_REFUSE} BOTHERED WITH {_OBJECT} {_END}"),
    _rule("any", f"{_REFUSE} THAT [YOU MORE ME BE]* [SENDSUBJ SEND] ME? {_OBJECT} {_END}"),
    _rule("any", f"{_MORE} {_REFUSE} THAT [YOU MORE ME BE]* (CALLSUBJ | {_TOUCHSUBJ}) {_END}"),
    _rule(
        "any",
        f"NEG [I MORE YOU]* ALLOW [DE MORE]* ((SEND | DET* ENVIO [DE FROM])? {_SURE} | ENTER INTOUCH) {_END}",
    ),
    _rule("any", f"NEG [I MORE YOU]* WANT DET? MORE BE? {_SURE} {_END}"),
    _rule("any", f"NEG [I MORE YOU]* WANT {_SURE} {_SENDER} {_END}"),
    _rule("any", f"NEG [I MORE YOU]* WANT MORE* BE [IN FROM] {_LISTED} {_END}"),
    _rule("any", f"[WANT PREFER] DE? NEG [MORE ME]* RECEIVE {_OBJECT} {_END}"),
    _rule("any", f"DISMISS (RECEIVE | DET* ENVIO [DE FROM])? {_SURE} {_END}"),
    # "não me mandem mais mensagens", "nunca mais me ligue", "favor não enviar mais propaganda"
    _rule("any", f"{_MORE} NEG [MORE ME YOU BE]* (SENDSUBJ ME? {_OBJECT} | {_TOUCHSUBJ}) {_END}"),
    _rule("any", f"{_MORE} {_ME} NEG [MORE ME YOU]* CALLSUBJ {_END}"),
    _rule("any", f"{_MORE} NEG [MORE YOU]* CALLSUBJ {_STOP_THERE}", whole=True),
    _rule("any", f"NEG [MORE YOU]* (BE | AGAIN) [MORE ME]* (SEND ME? {_OBJECT} | {_CALL}) {_END}"),
    _rule("any", f"NEG MSG ME {_END}"),
    _rule("any", f"{_MORE} NEG [MORE ME YOU BE]* SENDSUBJ {_STOP_THERE}", whole=True),
    _rule("any", f"NEG ME? SENDSUBJ ME? DET* [MSG MSGS ADS] {_STOP_THERE}", whole=True),
    _rule("any", f"NEG ME? {_TOUCHSUBJ} {_STOP_THERE}", whole=True),
    _rule("asked", f"{_MORE} NEG MORE? (RECEIVE {_OBJECT} | ME CALLNOW) {_END}"),
    _rule(
        "asked",
        f"{_MORE} NEG (AND MORE? [IN PARA])? [MORE ME BE]* ([SEND SENDNOW] ME? {_OBJECT} | {_CALL}) {_END}",
    ),
    _rule("asked", f"NEG BENOW ME (SEND {_OBJECT} | CALL) {_END}"),
    _rule("asked", f"{_MORE} NEG [MORE ME]* [SEND SENDNOW RECEIVE] {_STOP_THERE}", whole=True),
    # "quero sair da lista", "me tira dessa lista", "remova meu número", "solicito a exclusão do meu contato"
    _rule("infinitive", f"LEAVE [FROM DE] {_LISTED} {_END}"),
    *_each(_TAKES_ME_OFF, f"{_OURS} {_END}"),
    *_each(_TAKES_OFF, f"({_MINE} ({_OURS} | THERE) | DET* MY NAME {_OURS}) {_END}"),
    *_each(_TAKES_OFF, f"DET* MY [NUM CONTACT] {_END}"),
    *_each(_REMOVES, f"DET* MY [PHONE ZAP] {_END}"),  # not "quero retirar meu celular" from a repair shop
    _rule("any", f"[REMOVAL TAKING] [FROM DE] {_LISTED} {_END}"),
    _rule("any", f"REMOVAL {_MINE} {_OURS}? {_END}"),
    _rule("any", f"[REMOVAL TAKING] [FROM DE] MY [NUM PHONE CONTACT NAME] {_OURS} {_END}"),
    # "cancelar a inscrição", "suspendam o envio de mensagens", "me descadastra"
    *_each(_CANCELS, f"[DET MY]* (SUBSCR IN {_LISTED} | ENVIO [DE FROM] DET* {_NEWS} | MSGS | NEWS) {_END}"),
    *_each(_CANCELS, f"[DET MY]* SUBSCR {_STOP_THERE}", whole=True),
    _rule("any", f"CANCELLATION [DE FROM] [DET MY]* SUBSCR {_END}"),
    _rule("any", f"CANCELLATION [DE FROM] [DET MY]* (ENVIO [DE FROM] DET*)? [MSGS NEWS ADS] {_END}"),
    _rule("any", f"(CARRY | BE CARRIED) ME? ({_OURS} | DET* MY [NUM CONTACT ZAP])? {_END}"),
)

# What each of them holds. Most messages hold none of it, and need not be tried against sixty patterns.
MAY_ASK: Final = compiled(
    "[NEG STOP STOPINF LET LETINF LETNOW ENOUGH NOMORE DISMISS LEAVE REMOVE REMOVEINF REMOVENOW TAKE TAKEINF"
    " TAKENOW REMOVED REMOVAL TAKING CANCEL CANCELINF CANCELNOW CANCELLATION CARRY CARRIED]"
    " | PARA ([FILL NOW]? DE | WITH)"
)

# --- Before the phrase, in its own clause ---------------------------------------------------------------
LEFT: Final[dict[Left, re.Pattern[str]]] = {
    "any": compiled("$"),
    "infinitive": compiled(
        "(^ | [FILL GREET NOW AND BUT ONLY WANT DE TO MAY WAY HOW ICAN ASK TRIED CANT YOU I ME BE WANTS]) $"
        f" | (^ {_OPENERS} | [HOW ASK SAID AND WANT ICAN] [^PAUSE BREAK]*) [IN PARA] ME? $"
    ),
    # "para", "tira", "manda" are commands only where a clause begins: not in "o app para de mandar"
    "opening": compiled(f"^ {_OPENERS} ([YOU MAY WAY WANT] ME?)? $"),
    "asked": compiled(
        f"^ {_OPENERS} $ | ASK [DE YOU]* $ | [HOW ASK SAID AND] [^PAUSE BREAK]* [IN PARA] YOU? $"
    ),
}
TURNED: Final = compiled(
    # a condition, another person, something already done
    "[HYPO THIRD DONE]"
    # somebody else wants or may: "minha mãe quer", "o app pode"
    " | [UNKNOWN BIZ NUM PHONE MSG MSGS NAME CLIENT SUBSCR] NEG? [WANTS MAY GOING]"
    # denied: "não parem", "não quero que parem"
    " | NEG [ME YOU THAT WANT MORE I DE TO IN PARA MAY WANTS BE ASK SAID AND]* $"
)
# "não vejo motivo para parar"; but "não consigo parar" and "não dá para parar?" ask for it
DENIED: Final = compiled("NEG (?![CANT WAY]) [^PAUSE BREAK]* $")
OWN_ACT: Final = compiled("([WANT ICAN] DE? | I) $")

# --- Anywhere in the message: it wants other messages, takes it back, jokes, or repeats our instructions ---
REDIRECTED: Final = compiled(
    "PROMPT | UNDO | LAUGH | RENEW | (?<!NEG) AGAIN"
    " | (?<!NEG) (?<!MORE) [WANT ALLOW PREFER MAY WAY ASK] [DE TO THAT YOU ME BE]*"
    " [RECEIVE SEND SENDSUBJ SENDNOW CALL CALLSUBJ CALLNOW TALK]"
    " | (?<!NEG) (?<!MORE) [WANT MAY PREFER] [DE DET BE IN PARA]* [OTHERWAY TALK]"
    " | [PAUSE BREAK] [FILL GREET AND BUT ONLY NOW]* ME? [SENDSUBJ SENDNOW CALLSUBJ CALLNOW]"
    " | AND ME [SENDSUBJ SENDNOW CALLSUBJ CALLNOW]"
    f" | [PAUSE BREAK] [ONLY PREFER] (?! [NEG ME WANT ASK {_LEAVING}])"
    f" | [ONLY BUT] WANT (?! DE? [NEG ME THAT BE ASK {_LEAVING}])"
)
