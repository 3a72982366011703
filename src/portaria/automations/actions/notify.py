"""Notify: a notice in the Central de avisos, with the words the rule's author chose."""

from portaria.automations.actions.step import Result, Step, done, failed
from portaria.db.pool import Connection
from portaria.notices import open_notice


async def perform(conn: Connection, step: Step) -> Result:
    """Opens the notice or counts one more. It points at the lead and holds nothing of it."""
    title, body = step.config.get("title"), step.config.get("body", "")
    if not isinstance(title, str) or not title or not isinstance(body, str):
        return failed(step, "invalid_config")
    await open_notice(
        conn, organization_id=step.organization_id, kind="automation", severity="info", title=title[:255],
        body=body, resource_kind="lead", resource_id=step.lead_id,
    )  # fmt: skip
    return done(step)
