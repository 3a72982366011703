"""Tag: the lead gets it once."""

from portaria.automations.actions.step import Result, Step, done, failed, skipped
from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.automations")


async def perform(conn: Connection, step: Step) -> Result:
    tag = step.config.get("tag")
    if not isinstance(tag, str) or not tag:
        return failed(step, "invalid_config")
    parameters = {"organization_id": step.organization_id, "lead_id": step.lead_id, "tag": tag}
    found = (await conn.execute(_Q["add_tag"], parameters)).rowcount
    return done(step) if found else skipped(step, "lead_inexistente")
