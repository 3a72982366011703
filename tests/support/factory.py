"""Rows that tests need, made as the owner in plain SQL."""

import secrets
from dataclasses import dataclass
from uuid import UUID

import psycopg

from portaria.ids import uuid7


@dataclass(frozen=True)
class Channel:
    """A connected number and what its provider signs with."""

    organization_id: UUID
    id: UUID
    token: str
    account_id: str
    secret: str
    phone_number: str | None
    provider: str


class Factory:
    """Makes organizations, users, members and channels."""

    def __init__(self, conn: psycopg.Connection) -> None:
        self.conn = conn

    def organization(self, name: str = "Loja Exemplo") -> UUID:
        made = uuid7()
        self.conn.execute("INSERT INTO organizations (id, name) VALUES (%s, %s)", (made, name))
        return made

    def user(self, name: str = "Ana", *, email: str | None = None, operator: bool = False) -> UUID:
        made = uuid7()
        self.conn.execute(
            "INSERT INTO users (id, email, name, is_operator) VALUES (%s, %s, %s, %s)",
            (made, email or f"{made}@exemplo.test", name, operator),
        )
        return made

    def member(self, organization_id: UUID, name: str = "Ana", *, role: str = "agent") -> UUID:
        made = self.user(name)
        self.conn.execute(
            "INSERT INTO user_organizations (organization_id, user_id, role) VALUES (%s, %s, %s)",
            (organization_id, made, role),
        )
        return made

    def channel(
        self,
        organization_id: UUID,
        *,
        provider: str = "zernio",
        account_id: str | None = None,
        phone_number: str | None = "+551130009999",
        profile_id: str | None = None,
        secret_ciphertext: bytes | None = None,
        secret: str = "segredo-inventado-zernio-0123456789",
    ) -> Channel:
        made, token = uuid7(), secrets.token_urlsafe(16)
        account_id = account_id or secrets.token_hex(12)
        self.conn.execute(
            "INSERT INTO channel_sessions (organization_id, id, provider, account_id, phone_number,"
            " provider_profile_id, webhook_path_token, secret_ciphertext)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            (organization_id, made, provider, account_id, phone_number, profile_id, token, secret_ciphertext),
        )
        return Channel(organization_id, made, token, account_id, secret, phone_number, provider)
