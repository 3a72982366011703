"""What intake tells people (spec 5): kinds, titles and sentences, stored in Portuguese."""

from typing import Final
from uuid import UUID

from portaria.db.pool import Connection
from portaria.intake.text import clean_cut
from portaria.notices import open_notice

NOT_IN_CRM: Final = "Uma mensagem do número oficial não entrou no CRM"
UNATTENDED: Final = "Uma mensagem do número oficial ficou sem atendimento"
OUT_OF_CONTRACT: Final = "Uma mensagem do número oficial veio fora do contrato"
SECRET_UNREADABLE: Final = "O segredo de um canal não pôde ser lido"  # noqa: S105 - a title
DELIVERY_REFUSED: Final = "Uma entrega foi recusada pelo tamanho ou formato"

_CHECK_PANEL: Final = "Confira as conversas no painel do provedor e responda por lá o que faltar."
_NAME_LIMIT: Final = 100

# The seed's first two titles share one kind, so that whoever filters sees both.
EVENT_DEAD: Final = "event_dead"


def number_title(phone: str, state: str) -> str:
    return f"Número {clean_cut(phone, _NAME_LIMIT)}: {state.upper()}"


def template_title(name: str, status: str) -> str:
    return f'Modelo "{clean_cut(name, _NAME_LIMIT)}": {clean_cut(status, 50)}'


async def not_in_crm(conn: Connection, organization_id: UUID | None, row: UUID) -> None:
    """A promised message was given up before it came in."""
    await open_notice(
        conn, organization_id=organization_id, kind=EVENT_DEAD, severity="error", title=NOT_IN_CRM,
        body=f"Uma mensagem aceita não pôde ser gravada a tempo. {_CHECK_PANEL}",
        resource_kind="webhook_event", resource_id=row,
    )  # fmt: skip


async def unattended(conn: Connection, organization_id: UUID, row: UUID, failed: str | None) -> None:
    """A message is in, but too late for its dispatch; `failed` names the effects that failed again."""
    also = f" Também não foi possível concluir: {failed}." if failed else ""
    await open_notice(
        conn, organization_id=organization_id, kind=EVENT_DEAD, severity="error", title=UNATTENDED,
        body=f"A mensagem está no CRM, mas o atendimento automático não foi acionado.{also} {_CHECK_PANEL}",
        resource_kind="webhook_event", resource_id=row,
    )  # fmt: skip


async def out_of_contract(
    conn: Connection, organization_id: UUID, row: UUID, fields: tuple[str, ...]
) -> None:
    """A signed body broke the provider's contract: the fields by name, never their values."""
    await open_notice(
        conn, organization_id=organization_id, kind="event_contract", severity="error",
        title=OUT_OF_CONTRACT,
        body=f"Campos fora do contrato: {', '.join(fields)}. {_CHECK_PANEL}",
        resource_kind="webhook_event", resource_id=row,
    )  # fmt: skip


async def secret_unreadable(
    conn: Connection, organization_id: UUID | None, session_id: UUID | None, why: str
) -> None:
    sentence = {
        "missing": "Nenhum segredo está configurado",
        "too short": "O segredo tem menos de 16 caracteres",
    }.get(why, "O segredo guardado não pôde ser decifrado com a chave desta instalação")
    await open_notice(
        conn, organization_id=organization_id, kind="channel_secret", severity="error",
        title=SECRET_UNREADABLE,
        body=f"{sentence}. As entregas recebem 503 e voltam; troque o segredo do canal ou corrija a chave.",
        resource_kind=None if session_id is None else "channel_session", resource_id=session_id,
    )  # fmt: skip


async def delivery_refused(conn: Connection, organization_id: UUID | None, why: str, times: int) -> None:
    await open_notice(
        conn, organization_id=organization_id, kind="delivery_refused", severity="warning",
        title=DELIVERY_REFUSED,
        body=f"{why} Recusas desde o último aviso: {times}. {_CHECK_PANEL}",
    )  # fmt: skip
