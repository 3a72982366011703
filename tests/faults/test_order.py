"""What is written before what: nothing of a delivery is there before its mark is."""

from tests.faults.conftest import FrontDesk
from tests.support.waiting import until

MARKED = "(OLD.valid_signature IS NULL AND NEW.valid_signature AND NEW.status = 'received')"


async def test_what_could_not_be_marked_has_no_effect(desk: FrontDesk) -> None:
    """Archived, answered 503, and nothing else; marked at a later delivery it comes in."""
    desk.owner.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'no mark' USING ERRCODE = '53100'; END $$"
    )
    desk.owner.execute(
        f"CREATE TRIGGER refuse BEFORE UPDATE ON webhook_events_log FOR EACH ROW WHEN {MARKED}"
        " EXECUTE FUNCTION refuse()"
    )
    sending, tally = desk.begin(16)
    await until(lambda: tally.answers["message 503 unavailable"] >= 8)
    assert desk.rows("SELECT count(*) > 4 FROM webhook_events_log WHERE status = 'received'") == [(True,)]
    assert desk.rows("SELECT external_id FROM messages") == []
    assert desk.rows("SELECT id FROM event_log WHERE entity_kind = 'message'") == []
    desk.owner.execute("DROP TRIGGER refuse ON webhook_events_log")
    await sending
    await desk.rest()
    assert desk.look() == {}
