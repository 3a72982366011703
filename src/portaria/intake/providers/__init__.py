"""Providers are adapters behind one small protocol (spec 2.5): signature, account, kind, parsing.

All of it is pure: bytes and values in, values out; no I/O, no clock, no database. Bodies come from
`json_body.parse_object`. To add a provider, write its adapter and name it in `_PROVIDERS`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from portaria.intake.providers.contract import Body, ContractError
from portaria.intake.providers.facts import (
    AccountRef,
    Connection,
    Delete,
    Direction,
    Edit,
    Fact,
    Kind,
    NewMessage,
    NumberState,
    Outcome,
    OutcomeStatus,
    TemplateReview,
)
from portaria.intake.providers.zernio import Zernio

__all__ = [
    "AccountRef",
    "Body",
    "Connection",
    "ContractError",
    "Delete",
    "Direction",
    "Edit",
    "Fact",
    "Kind",
    "NewMessage",
    "NumberState",
    "Outcome",
    "OutcomeStatus",
    "Provider",
    "TemplateReview",
    "provider_for",
]


class Provider(Protocol):
    """What intake asks of a provider. Only `parse` raises, and only ContractError."""

    @property
    def name(self) -> str:
        """As in `channel_sessions.provider`."""

    def verify(self, raw: bytes, headers: Mapping[bytes, bytes], secrets: Sequence[bytes]) -> bool:
        """Whether one of the secrets signed exactly these bytes; header names in lower case."""

    def account(self, body: Body) -> AccountRef: ...

    def event_type(self, body: Body) -> str:
        """The provider's own name of the event; empty when it has none."""

    def external_id(self, body: Body) -> str | None:
        """The message's id where there is a message, else the event's."""

    def kind(self, body: Body) -> Kind:
        """What the event is to us [processaDepoisDeResponder]: classification alone."""

    def parse(self, body: Body) -> Fact:
        """The fact the event tells, of the type that belongs to its kind."""


_PROVIDERS: Final[dict[str, Provider]] = {
    adapter.name: adapter for adapter in (Zernio("zernio"), Zernio("zernio_social"))
}


def provider_for(name: str) -> Provider:
    """The adapter of a channel session's provider. Raises KeyError for one without an adapter."""
    return _PROVIDERS[name]
