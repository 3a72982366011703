"""The route: every row of the answers' table, and what others' receivers broke on (spec 3)."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

import psycopg

from portaria.accounts.http import PREFIX, EventLimits
from portaria.db.pool import Database
from tests.accounts.conftest import TOKEN, Inbox, open_inbox
from tests.accounts.workbench import envelope

BEARER = f"Bearer {TOKEN}"
REFUSE = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$"


def request(authorization: bytes | None, *, body: bytes = b"", path: str = PREFIX) -> bytes:
    """A whole request that closes after the answer; the header byte for byte as given."""
    credentials = b"" if authorization is None else b"Authorization: %b\r\n" % authorization
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + credentials + b"\r\n" + body


async def test_a_new_event_is_accepted_with_its_row_and_its_job(inbox: Inbox) -> None:
    answer = await inbox.post(envelope("evt_1"))
    assert (answer.status_code, answer.json()) == (202, {"status": "accepted"})
    assert inbox.events() == [("evt_1", "pending", 0)]
    [(row,)] = inbox.owner.execute("SELECT id FROM incoming_events").fetchall()
    assert inbox.jobs() == [{"incoming_event_id": str(row), "attempts": 0}]


async def test_a_known_event_is_answered_200_and_writes_nothing(inbox: Inbox) -> None:
    await inbox.post(envelope("evt_1"))
    before = inbox.owner.execute("SELECT * FROM incoming_events").fetchall()
    for resent in (envelope("evt_1"), envelope("evt_1", event_type="OTHER", data={"x": 1})):
        answer = await inbox.post(resent)
        assert (answer.status_code, answer.json()) == (200, {"status": "known"})
    assert inbox.owner.execute("SELECT * FROM incoming_events").fetchall() == before
    assert len(inbox.jobs()) == 1


STRANGERS = {
    "none": {},
    "another": {"authorization": "Bearer another-token"},
    "longer": {"authorization": f"Bearer {TOKEN}x"},
    "shorter": {"authorization": f"Bearer {TOKEN[:-1]}"},
    "basic": {"authorization": f"Basic {TOKEN}"},
    "bare": {"authorization": TOKEN},
    "a user's JWT": {"authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2VyIn0.c2lnbmF0dXJh"},
    "another header": {"x-authorization": BEARER},
}


async def test_without_the_token_401_and_nothing_else_is_looked_at(inbox: Inbox) -> None:
    for who, headers in STRANGERS.items():
        for body in (json.dumps(envelope()).encode(), b"not json", b"x" * (4 * 1024 * 1024)):
            answer = await inbox.post(body, headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), who
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["content-type"] == "application/problem+json"
    assert (inbox.events(), inbox.notices()) == ([], [])


async def test_an_invalid_payload_is_422_and_leaves_nothing(inbox: Inbox) -> None:
    no_date = json.dumps(envelope(occurred_at="soon")).encode()
    for body in (b"", b"not json", b"[]", b"{}", no_date, b"\xff", b"[" * 100_000):
        answer = await inbox.post(body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_payload"), body[:20]
    assert (inbox.events(), inbox.jobs(), inbox.notices()) == ([], [], [])


async def test_scheme_in_any_case_and_any_number_of_spaces(inbox: Inbox) -> None:
    """C8."""
    body = json.dumps(envelope()).encode()
    statuses = [
        await inbox.send(request(given % TOKEN.encode(), body=body))
        for given in (b"bearer %b", b"BEARER %b", b"Bearer   %b", b" \tBearer %b \t")
    ]
    assert statuses == [[202], [200], [200], [200]]


async def test_a_header_that_is_not_one_scheme_and_one_token_is_refused(inbox: Inbox) -> None:
    """C8; C3: bytes beyond ASCII too, and never a traceback."""
    for given in (
        b"", b"Bearer", b"Bearer ", b"Bearer\t%b", b"Bearer%b", b"%b Bearer", b"Bearer %b, Bearer x",
        b"Bearer %b\r\nAuthorization: Bearer %b", b'Bearer "%b"', b"Bearer %b x", b"Bearer caf\xe9",
        b"Bearer \xff\xfe", b"B\xe9arer %b", "Bearer café".encode(),
    ):  # fmt: skip
        assert await inbox.send(request(given.replace(b"%b", TOKEN.encode()))) == [401], given
    assert inbox.notices() == []


async def test_a_configured_token_beyond_ascii_works(db: Database, owner: psycopg.Connection) -> None:
    """C3: written as UTF-8 or, the older way, as Latin-1."""
    token, body = "sécret-à-vontade-0123456789", json.dumps(envelope()).encode()
    async with open_inbox(db, owner, tokens=(token,)) as inbox:
        for encoding, status in (("utf-8", 202), ("latin-1", 200)):
            given = f"Bearer {token}".encode(encoding)
            assert await inbox.send(request(given, body=body)) == [status]


async def test_two_tokens_live_during_a_rotation(db: Database, owner: psycopg.Connection) -> None:
    async with open_inbox(db, owner, tokens=("the-new-token", "the-old-token")) as rotating:
        for number, token in enumerate(("the-new-token", "the-old-token")):
            answer = await rotating.post(envelope(f"evt_{number}"), {"authorization": f"Bearer {token}"})
            assert answer.status_code == 202
        assert (await rotating.post(envelope())).status_code == 401


async def test_without_a_configured_token_nobody_comes_in(db: Database, owner: psycopg.Connection) -> None:
    for tokens in ((), ("",), ("", "  ")):
        async with open_inbox(db, owner, tokens=tokens) as closed:
            for given in (b"Bearer", b"Bearer ", b"Bearer  ", BEARER.encode()):
                assert await closed.send(request(given)) == [401]


BODIES = {
    "odd spacing": b'\xef\xbb\xbf {"event_id" : "evt_1",\r\n"event_type":"T",\t"occurred_at":"2026-10-27",'
    b'"data":{ } }\n ',
    "duplicate keys": b'{"event_id":"x","event_id":"evt_2","event_type":"T","occurred_at":"2026-10-27",'
    b'"data":{"a":1,"a":2}}',
    "2^53 + 1 and escapes": b'{"event_id":"evt_3","event_type":"T","occurred_at":"2026-10-27",'
    b'"data":{"n":9007199254740993,"f":1.10,"e":1E+02,"text":"\\u00e9 \xc3\xa9 \\u0000 \\/"}}',
}


async def test_the_body_is_kept_byte_for_byte(inbox: Inbox) -> None:
    for name, body in BODIES.items():
        assert (await inbox.post(body)).status_code == 202, name
    stored = inbox.owner.execute("SELECT payload FROM incoming_events ORDER BY event_id").fetchall()
    assert [payload.encode() for (payload,) in stored] == list(BODIES.values())


async def test_any_framing_and_any_label_is_the_same_event(inbox: Inbox) -> None:
    """D2, D8."""
    raw = json.dumps(envelope("évt_1"), ensure_ascii=False).encode()

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(raw), 7):
            yield raw[start : start + 7]

    headers = {"authorization": BEARER, "content-type": "text/plain; charset=latin1"}
    answer = await inbox.client.post(PREFIX, content=chunks(), headers=headers)
    assert answer.status_code == 202
    [(payload,)] = inbox.owner.execute("SELECT payload FROM incoming_events").fetchall()
    assert payload.encode() == raw


async def test_a_trailing_slash_is_served_and_never_redirected(inbox: Inbox) -> None:
    """D7."""
    assert (await inbox.post(envelope(), path=PREFIX + "/")).status_code == 202


async def test_another_path_is_404_and_another_method_405_with_allow(inbox: Inbox) -> None:
    for path in (PREFIX + "//", PREFIX + "/x", PREFIX + "x"):
        assert (await inbox.post(envelope(), path=path)).status_code == 404
    for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        answer = await inbox.client.request(method, PREFIX, headers={"authorization": BEARER})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert inbox.events() == []


async def test_a_body_over_the_limit_is_413_even_if_it_is_no_json(
    db: Database, owner: psycopg.Connection
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 50_000

    async with open_inbox(db, owner, limits=EventLimits(body=1_000)) as small:
        at_limit = json.dumps(envelope("evt_1")).encode().ljust(1_000)
        assert (await small.post(at_limit)).status_code == 202
        for body in (b"x" * 1_001, chunks()):
            answer = await small.client.post(PREFIX, content=body, headers={"authorization": BEARER})
            assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert len(small.events()) == 1


async def test_a_compressed_body_is_415(inbox: Inbox) -> None:
    """D1."""
    headers = {"authorization": BEARER, "content-encoding": "gzip"}
    answer = await inbox.post(gzip.compress(json.dumps(envelope()).encode()), headers)
    assert answer.status_code == 415
    assert inbox.events() == []


async def test_who_waits_to_be_asked_is_asked_only_with_the_token(inbox: Inbox) -> None:
    """D6: `Expect: 100-continue`."""
    body = json.dumps(envelope()).encode()
    waiting = request(BEARER.encode(), body=body).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n", 1)
    assert await inbox.send(waiting.replace(b"Bearer", b"Basic").removesuffix(body)) == [401]
    assert await inbox.send(waiting, answers=2) == [100, 202]


async def test_a_client_that_leaves_half_way_leaves_nothing(inbox: Inbox) -> None:
    _, writer = await asyncio.open_connection(*inbox.url.removeprefix("http://").split(":"))
    body = json.dumps(envelope()).encode()
    writer.write(request(BEARER.encode(), body=body)[:-5])
    await writer.drain()
    writer.close()
    assert (await inbox.post(envelope("evt_2"))).status_code == 202
    assert inbox.events() == [("evt_2", "pending", 0)]


async def test_a_body_that_takes_too_long_is_408(db: Database, owner: psycopg.Connection) -> None:
    async with open_inbox(db, owner, limits=EventLimits(body_within=0.2)) as hurried:
        assert await hurried.send(request(BEARER.encode(), body=b"{" * 50)[:-5]) == [408]


async def test_a_trigger_that_raises_on_the_queue_leaves_no_event(inbox: Inbox) -> None:
    """F11: both or neither."""
    inbox.owner.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$"
    )
    inbox.owner.execute("CREATE TRIGGER t BEFORE INSERT ON procrastinate_jobs EXECUTE FUNCTION refuse()")
    answer = await inbox.post(envelope())
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "refuse" not in answer.text
    assert (inbox.events(), inbox.jobs()) == ([], [])
    inbox.owner.execute("DROP TRIGGER t ON procrastinate_jobs")
    assert (await inbox.post(envelope())).status_code == 202


async def test_a_failure_at_commit_leaves_neither_event_nor_job(inbox: Inbox) -> None:
    """F11: between job insert and commit."""
    inbox.owner.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$"
    )
    inbox.owner.execute(
        "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON procrastinate_jobs DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    assert (await inbox.post(envelope())).status_code == 500
    assert (inbox.events(), inbox.jobs()) == ([], [])


async def test_ten_at_once_are_one_event(inbox: Inbox) -> None:
    """G1, while the first one's transaction is held open: the others wait for its end."""
    inbox.owner.execute(
        "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$"
    )
    inbox.owner.execute(
        "CREATE TRIGGER t AFTER INSERT ON incoming_events FOR EACH ROW EXECUTE FUNCTION dawdle()"
    )
    answers = await asyncio.gather(*(inbox.post(envelope()) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [202]
    assert (inbox.events(), len(inbox.jobs())) == ([("evt_1", "pending", 0)], 1)


async def test_a_repetition_is_known_after_its_body_was_emptied(inbox: Inbox) -> None:
    """G6."""
    await inbox.post(envelope())
    inbox.owner.execute("UPDATE incoming_events SET payload = '', status = 'processed', processed_at = now()")
    assert (await inbox.post(envelope())).status_code == 200
    assert len(inbox.jobs()) == 1
