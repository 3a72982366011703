"""What an archived arrival deserves: the rows of the table in spec 2.2 after the archive, in its order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from portaria.intake.json_body import InvalidJson, parse_object
from portaria.intake.providers import AccountRef, Body, Kind, Provider, provider_for
from portaria.intake.sessions import Secrets, Session, SessionDirectory

SOCIAL: Final = "zernio_social"
PROVIDERS: Final = ("zernio", SOCIAL)
_NOBODY: Final = AccountRef(None, None, None)
SYNCHRONOUS: Final = frozenset(
    {Kind.OUTCOME, Kind.EDIT, Kind.DELETE, Kind.NUMBER_STATE, Kind.TEMPLATE_REVIEW, Kind.CONNECTION}
)
_IGNORED_KINDS: Final = {
    Kind.TEST: "webhook_de_teste",
    Kind.OTHER_PLATFORM: "outra_plataforma",
    Kind.UNKNOWN: "evento_desconhecido",
}


@dataclass(frozen=True, slots=True)
class OurFault:
    """Our own secret is missing, too short or not decryptable: 503, never a 4xx."""

    reason: str
    session: Session | None


@dataclass(frozen=True, slots=True)
class Refused:
    """Signature missing or wrong: 401."""


@dataclass(frozen=True, slots=True)
class NotJson:
    """Signed, but not a JSON object: 400 `invalid_json`."""

    detail: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing to do: 200 `ignored` with the reason. `signed` is None where nobody looked."""

    reason: str
    signed: bool | None
    event_type: str | None = None
    external_id: str | None = None
    session: Session | None = None


@dataclass(frozen=True, slots=True)
class NewMessageArrived:
    """A new message of the intermediated channel: answered before it is processed."""

    session: Session
    body: Body


@dataclass(frozen=True, slots=True)
class ProcessFirst:
    """Any other known event: order matters, so it is processed before its answer."""

    session: Session
    body: Body
    provider: Provider


Verdict = OurFault | Refused | NotJson | Ignored | NewMessageArrived | ProcessFirst


async def judge(
    directory: SessionDirectory,
    session: Session | None,
    installation: Secrets,
    raw: bytes,
    headers: Mapping[bytes, bytes],
    *,
    within: float,
) -> Verdict:
    """First match wins. `session` is None on the installation's own route.

    Raises what the database raises when it must be asked, and TimeoutError after `within` seconds.
    """
    if session is not None and session.archived:
        return Ignored("canal_arquivado", signed=None)
    secrets = installation if session is None else session.secrets
    if secrets.fault is not None:
        return OurFault(secrets.fault, session)
    provider = provider_for("zernio" if session is None else session.provider)
    if not provider.verify(raw, headers, secrets.live):
        # It may well be signed with the older secret that we cannot use.
        return OurFault(secrets.previous_fault, session) if secrets.previous_fault else Refused()
    try:
        body = parse_object(raw)
    except InvalidJson as error:
        return NotJson(str(error))

    ref, kind = provider.account(body), provider.kind(body)
    if kind is Kind.TEST and ref == _NOBODY:
        # `webhook.test` names no account, and would never get past the question for it.
        return _ignored(_IGNORED_KINDS[kind], provider, body, session)
    owner = await _owner(directory, session, ref, body, within)
    if owner is None:
        return _ignored("conta_desconhecida", provider, body, None)
    if owner.provider != provider.name:
        provider = provider_for(owner.provider)
        kind = provider.kind(body)
    if kind in _IGNORED_KINDS:
        return _ignored(_IGNORED_KINDS[kind], provider, body, owner)
    if answers_first(owner.provider, kind):
        return NewMessageArrived(owner, body)
    return ProcessFirst(owner, body, provider)


def _ignored(reason: str, provider: Provider, body: Body, session: Session | None) -> Ignored:
    return Ignored(reason, True, provider.event_type(body) or None, provider.external_id(body), session)


def answers_first(provider: str, kind: Kind) -> bool:
    """Only a new message of the intermediated channel is answered before it is processed.

    Its repetition is the only one the database absorbs by itself [processaDepoisDeResponder].
    """
    return kind is Kind.NEW_MESSAGE and provider != SOCIAL


async def _owner(
    directory: SessionDirectory, session: Session | None, ref: AccountRef, body: Body, within: float
) -> Session | None:
    if session is not None:
        return session if await directory.belongs(session, ref, PROVIDERS, within=within) else None
    found = await directory.by_account(ref, PROVIDERS, within=within)
    fitting = [s for s in found if _fits(s, body)]
    if found and not fitting:
        # Its other session may have been made since.
        found = await directory.by_account(ref, PROVIDERS, within=within, fresh=True)
        fitting = [s for s in found if _fits(s, body)]
    return next(iter(fitting or found), None)


def _fits(session: Session, body: Body) -> bool:
    return provider_for(session.provider).kind(body) is not Kind.OTHER_PLATFORM
