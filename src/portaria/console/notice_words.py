"""Notices are stored in Portuguese, whatever the reader speaks; here they are said in English.

Each sentence that the product writes stands once as it is stored, with its variable parts in braces. A
notice of somebody's own wording (an automation's) matches nothing and is shown as it was written.
"""

import re
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from portaria.console.language import N_, Language

_TITLES: Final = (
    ("Uma mensagem do número oficial não entrou no CRM",
     N_("A message of the official number did not enter the CRM")),
    ("Uma mensagem do número oficial ficou sem atendimento",
     N_("A message of the official number was left unattended")),
    ("Uma mensagem do número oficial veio fora do contrato",
     N_("A message of the official number broke the contract")),
    ("O segredo de um canal não pôde ser lido", N_("A channel's secret could not be read")),
    ("Uma entrega foi recusada pelo tamanho ou formato", N_("A delivery was refused for its size or format")),
    ("Um evento do accounts não foi processado", N_("An accounts event was not processed")),
    ("Número {phone}: {state}", N_("Number %(phone)s: %(state)s")),
    ('Modelo "{name}": {state}', N_('Template "%(name)s": %(state)s')),
)  # fmt: skip
_SENTENCES: Final = (
    ("Confira as conversas no painel do provedor e responda por lá o que faltar.",
     N_("Check the conversations in the provider's panel, and answer there what is missing.")),
    ("Uma mensagem aceita não pôde ser gravada a tempo.",
     N_("An accepted message could not be stored in time.")),
    ("A mensagem está no CRM, mas o atendimento automático não foi acionado.",
     N_("The message is in the CRM, but the automatic attendance was not called.")),
    ("Também não foi possível concluir: oportunidade e eventos da mensagem.",
     N_("This could not be completed either: the message's lead and events.")),
    ("Também não foi possível concluir: {what}.", N_("This could not be completed either: %(what)s.")),
    ("Campos fora do contrato: {fields}.", N_("Fields outside the contract: %(fields)s.")),
    ("Nenhum segredo está configurado.", N_("No secret is configured.")),
    ("O segredo tem menos de 16 caracteres.", N_("The secret has fewer than 16 characters.")),
    ("O segredo guardado não pôde ser decifrado com a chave desta instalação.",
     N_("The stored secret could not be decrypted with this installation's key.")),
    ("As entregas recebem 503 e voltam; troque o segredo do canal ou corrija a chave.",
     N_("Deliveries get 503 and come back; rotate the channel's secret, or correct the key.")),
    ("O corpo passou do tamanho permitido.", N_("The body was larger than allowed.")),
    ("O corpo veio compactado.", N_("The body came compressed.")),
    ("O corpo de um evento do accounts passou do tamanho permitido ou veio compactado.",
     N_("The body of an accounts event was larger than allowed, or came compressed.")),
    ("Um evento do accounts não pôde ser gravado porque o banco de dados não respondeu a tempo.",
     N_("An accounts event could not be stored because the database did not answer in time.")),
    ("Recusas desde o último aviso: {times}.", N_("Refused since the last notice: %(times)s.")),
    ("O accounts desiste na terceira tentativa: confira nele os eventos que faltam e peça o reenvio.",
     N_("Accounts gives up at the third try: look there for the events that are missing, "
        "and have them sent again.")),
    ("O evento {event} ({type}) falhou três vezes: {error}. Corrija a causa e reprocesse-o em Chegadas.",
     N_("The event %(event)s (%(type)s) failed three times: %(error)s. Correct the "
        "cause, and reprocess it in Arrivals.")),
    ("O provedor recusou o número.", N_("The provider declined the number.")),
    ("O provedor pede uma ação para o número.", N_("The provider asks for an action on the number.")),
    ("O provedor pede a verificação do número.", N_("The provider asks for the number to be verified.")),
    ("O provedor suspendeu o número.", N_("The provider suspended the number.")),
    ("O provedor liberou o número: ele não é mais seu.",
     N_("The provider released the number: it is not yours any more.")),
    ("A conta foi desconectada do provedor.", N_("The account was disconnected from the provider.")),
    ("Motivo informado: {reason}.", N_("Reason given: %(reason)s.")),
    ("Resolva no painel do provedor.", N_("Solve it in the provider's panel.")),
    ("O provedor mudou a situação do modelo.", N_("The provider changed the template's state.")),
    ("Veja o modelo no painel do provedor.", N_("Look at the template in the provider's panel.")),
)  # fmt: skip


def say_title(language: Language, title: str) -> str | Markup:
    """The title as the reader reads it."""
    if language.locale == "pt_BR":
        return title
    for pattern, sentence in _COMPILED_TITLES:
        if found := pattern.fullmatch(title):
            return language.say(sentence, **found.groupdict())
    return title


def say_body(language: Language, body: str) -> str | Markup:
    """The body as the reader reads it, sentence by sentence; what is not ours stays as it is."""
    if language.locale == "pt_BR":
        return body
    said: list[str | Markup] = []
    place = 0
    while place < len(body):
        for pattern, sentence in _COMPILED_SENTENCES:
            if found := pattern.match(body, place):
                said.append(language.say(sentence, **found.groupdict()))
                place = found.end()
                break
        else:
            said.append(body[place:])
            break
    return Markup(" ").join(said)


def _compiled(
    sentences: Sequence[tuple[str, str]], after: str = ""
) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(
        (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(stored)) + after, re.DOTALL), sentence)
        for stored, sentence in sentences
    )


_COMPILED_TITLES: Final = _compiled(_TITLES)
_COMPILED_SENTENCES: Final = _compiled(_SENTENCES, r"(?:\s+|$)")
