"""Messages that arrive, ingested by the database's own function, step by step where a test needs it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from portaria.db.pool import Connection
from portaria.ids import uuid7
from tests.support.factory import Channel

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


async def arrive(
    conn: Connection,
    channel: Channel,
    external_id: str,
    *,
    minute: int = 0,
    thread: str = "thread-1",
    phone: str = "+5511900000001",
    direction: str = "inbound",
    body: str = "Olá",
) -> tuple[str, UUID]:
    """Ingests one message on `conn`, in its transaction if it has one: the outcome and the conversation."""
    row = uuid7()
    await conn.execute(
        "INSERT INTO webhook_events_log (id, organization_id, channel_session_id, provider, raw_body,"
        " valid_signature) VALUES (%s, %s, %s, 'zernio', '{}', true)",
        (row, channel.organization_id, channel.id),
    )
    message = {
        "id": str(uuid7()), "external_id": external_id, "direction": direction, "type": "text",
        "body": body, "preview": body, "sent_at": (NOON + timedelta(minutes=minute)).isoformat(),
        "provider_conversation_id": thread, "phone": phone, "phone_spellings": [phone], "identities": [],
        "name": f"Pessoa {thread}", "attachments": [], "metadata": {},
    }  # fmt: skip
    [(outcome, conversation)] = await (
        await conn.execute(
            "SELECT outcome, conversation_id FROM fn_ingest_message(%s, 0, NULL, %s, %s, %s)",
            (row, channel.organization_id, channel.id, Jsonb(message)),
        )
    ).fetchall()
    return outcome, conversation
