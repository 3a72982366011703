"""The doorstep: methods, sizes, framings, slow and hasty clients (spec 2.2; cases C and D)."""

import asyncio
import gzip
import time
from typing import Any

import psutil
import pytest

from portaria.intake.providers import samples
from tests.intake.conftest import INSTALLATION, Desk, OpenDesk, channel_path, encrypted, until
from tests.intake.reused import database
from tests.support.http import INSTALLATION_SECRET
from tests.support.raw_http import chunked, head, wire
from tests.support.web_process import web_process

__all__ = ["database"]

LIMIT = 3 * 1024 * 1024
REFUSED_TITLE = "Uma entrega foi recusada pelo tamanho ou formato"


def paths(desk: Desk) -> list[str]:
    return [channel_path(desk.channel), INSTALLATION]


def signed(desk: Desk, raw: bytes, path: str | None = None) -> dict[str, str]:
    return samples.sign(raw, INSTALLATION_SECRET if path == INSTALLATION else desk.channel.secret)


def padded(desk: Desk, size: int) -> bytes:
    """A good message of exactly `size` bytes."""
    raw = samples.encode(desk.message())
    return raw[:-1] + b" " * (size - len(raw)) + raw[-1:]


def nothing_archived(desk: Desk) -> bool:
    return desk.count("webhook_events_log") == 0


# --- before the body ----------------------------------------------------------------------------


async def test_only_posts_are_served(desk: Desk) -> None:
    for path in paths(desk):
        for method in ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"):
            for slash in ("", "/"):
                answer = await desk.client.request(method, path + slash)
                assert (answer.status_code, answer.headers["allow"]) == (405, "POST"), (method, path)
                if method != "HEAD":
                    assert answer.json()["code"] == "method_not_allowed"
    unknown = await desk.client.get("/api/v1/webhooks/channel/nobody-has-this-token")
    assert unknown.status_code == 405
    assert nothing_archived(desk)


async def test_a_token_nobody_has_is_not_found(desk: Desk) -> None:
    tokens = ("nobody-has-this-token", "short-7", "", "x" * 256, "x" * 60_000, "a%00b-12345", "a%2Fb-12345",
              "caf%C3%A9-1234", "%ff%fe%fd%fc%fb%fa%f9%f8%f7")  # fmt: skip
    for token in tokens:
        answer = await desk.post(desk.message(), path=f"/api/v1/webhooks/channel/{token}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), token[:20]
    for path in ("/api/v1/webhooks/", "/api/v1/webhooks/channel", "/api/v1/webhooks/canal-da-instalacao/x",
                 channel_path(desk.channel) + "//"):  # fmt: skip
        assert (await desk.post(desk.message(), path=path)).status_code == 404, path
    assert nothing_archived(desk)


async def test_a_trailing_slash_is_served_and_never_redirected(desk: Desk) -> None:
    for post in (desk.post, desk.post_to_installation):
        path = channel_path(desk.channel) if post == desk.post else INSTALLATION
        answer = await post(desk.message(), path=path + "/")
        assert (answer.status_code, answer.json()["status"]) == (200, "accepted")


async def test_an_encoded_body_is_refused_whether_it_is_one_or_not(desk: Desk) -> None:
    raw = samples.encode(desk.message())
    squeezed = gzip.compress(raw)
    for path in paths(desk):
        for coding, body in (("gzip", squeezed), ("gzip", raw), ("br", raw), ("GZIP", squeezed),
                             ("identity, gzip", squeezed), ("x-gzip", raw)):  # fmt: skip
            answer = await desk.client.post(
                path, content=body, headers={**signed(desk, body, path), "Content-Encoding": coding}
            )
            assert (answer.status_code, answer.json()["code"]) == (415, "content_encoding")
    async with wire(desk.url) as line:
        repeated = (b"Content-Encoding: identity", b"Content-Encoding: gzip", b"Content-Length: 2")
        await line.send(head("POST", INSTALLATION, {}, *repeated), b"{}")
        assert (await line.answer()).status == 415
    assert nothing_archived(desk)
    ok = await desk.post(raw, headers={"Content-Encoding": "identity"})
    assert ok.json()["status"] == "accepted"
    assert await one_notice(desk) == (desk.channel.organization_id, 1)


async def one_notice(desk: Desk) -> tuple[Any, int]:
    """Whose the only notice of refused deliveries is, and how often it was written."""
    await until(lambda: desk.count("notices") > 0)
    ((kind, title, *found),) = desk.rows("SELECT kind, title, organization_id, occurrences FROM notices")
    assert (kind, title) == ("delivery_refused", REFUSED_TITLE)
    return found[0], found[1]


async def test_headers_are_bounded(desk: Desk) -> None:
    raw = samples.encode(desk.message())
    for path in paths(desk):
        for size, status in ((31 * 1024, 200), (33 * 1024, 431), (200 * 1024, 431)):
            more = {f"X-Padding-{n}": "x" * 1024 for n in range(size // 1024)}
            answer = await desk.client.post(path, content=raw, headers={**signed(desk, raw, path), **more})
            assert answer.status_code == status, (path, size)
    assert desk.count("webhook_events_log") == 2
    many = {"X-Padding": "x" * 40_000}
    assert (await desk.post(raw, path="/api/v1/webhooks/channel/of-nobody", headers=many)).status_code == 404
    assert desk.count("notices") == 0


# --- sizes and framings -------------------------------------------------------------------------


async def test_the_limit_is_three_mebibytes_by_any_framing(desk: Desk) -> None:
    whole = padded(desk, LIMIT)
    assert (await desk.post(whole)).json()["status"] == "accepted"
    assert desk.one("SELECT raw_body FROM webhook_events_log") == whole
    over = whole + b" "
    for path in paths(desk):
        answer = await desk.client.post(path, content=over, headers=signed(desk, over, path))
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        async with wire(desk.url) as line:
            given = {**signed(desk, over, path), "Transfer-Encoding": "chunked"}
            await line.send(head("POST", path, given), chunked(over[:LIMIT], b" "))
            answer = await line.answer()
            assert (answer.status, answer.json()["code"]) == (413, "body_too_large")
            assert await line.ended()
    assert desk.count("webhook_events_log") == 1
    assert await one_notice(desk) == (desk.channel.organization_id, 1)


async def test_chunks_and_a_length_are_the_same_body(desk: Desk) -> None:
    raw = samples.encode(desk.message())
    async with wire(desk.url) as line:
        await line.send(desk.request(raw))
        assert (await line.answer()).json()["status"] == "accepted"
        given = {**signed(desk, raw), "Transfer-Encoding": "chunked"}
        await line.send(
            head("POST", channel_path(desk.channel), given), chunked(raw[:7], raw[7:99], raw[99:])
        )
        assert (await line.answer()).json()["status"] == "accepted"
    assert desk.rows("SELECT DISTINCT raw_body FROM webhook_events_log") == [(raw,)]
    async with wire(desk.url) as line:
        await line.send(head("POST", channel_path(desk.channel), samples.sign(b"", desk.channel.secret)))
        assert (await line.answer()).json()["code"] == "invalid_json"


async def test_a_body_is_taken_whatever_its_label(desk: Desk) -> None:
    labels = ("text/plain", "application/cloudevents+json; charset=utf-8", "application/json; charset=latin1",
              "multipart/form-data; boundary=x", "")  # fmt: skip
    for label in labels:
        raw = samples.encode(desk.message(text="ação"))
        answer = await desk.post(raw, headers={"Content-Type": label})
        assert answer.json()["status"] == "accepted", label
        assert desk.log_row(answer)["raw_body"] == raw
    await desk.settled()
    assert desk.rows("SELECT DISTINCT body FROM messages") == [("ação",)]


async def test_an_offer_to_upgrade_is_not_taken_and_the_body_not_lost(desk: Desk) -> None:
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"}
    path, big = channel_path(desk.channel), padded(desk, 300_000)
    async with wire(desk.url) as line:
        for _ in range(2):
            await line.send(*[desk.request(samples.encode(desk.message()), **offer) for _ in range(2)])
            for _ in range(2):
                assert (await line.answer()).json()["status"] == "accepted"
        await line.send(desk.request(big, **offer))
        assert (await line.answer()).json()["status"] == "accepted"
        given = {**signed(desk, big), **offer, "Transfer-Encoding": "chunked"}
        await line.send(head("POST", path, given))
        await line.send(chunked(big[:5], big[5:]), head("GET", path, offer), head("GET", path))
        assert (await line.answer()).json()["status"] == "accepted"
        assert (await line.answer()).status == 405
    assert desk.count("webhook_events_log", "valid_signature") == 6


async def test_a_body_that_is_promised_and_given_to_be_continued(desk: Desk) -> None:
    """Case D6: the body is asked for only once the doorstep is passed."""
    raw = samples.encode(desk.message())
    given = {**signed(desk, raw), "Content-Length": str(len(raw)), "Expect": "100-continue"}
    async with wire(desk.url) as line:
        await line.send(head("POST", channel_path(desk.channel), given))
        assert (await line.answer(within=1.0)).status == 100
        await line.send(raw)
        assert (await line.answer(within=1.0)).json()["status"] == "accepted"
    refusals = {
        "/api/v1/webhooks/channel/nobody-has-this-token": (given, 404),
        channel_path(desk.channel): ({**given, "Content-Length": str(LIMIT + 1)}, 413),
        INSTALLATION: ({**given, "Content-Encoding": "gzip"}, 415),
    }
    for path, (headers, status) in refusals.items():
        async with wire(desk.url) as line:
            await line.send(head("POST", path, headers))
            assert (await line.answer(within=1.0)).status == status
            assert await line.ended(within=1.0)
    assert desk.count("webhook_events_log") == 1


async def test_a_body_that_takes_too_long_is_given_up(open_desk: OpenDesk) -> None:
    async with open_desk(body_within=0.2) as desk, wire(desk.url) as line:
        await line.send(head("POST", INSTALLATION, {"Content-Length": "10"}), b"{")
        assert (await line.answer()).json()["code"] == "body_too_slow"
        assert nothing_archived(desk)


async def test_many_large_bodies_at_once_are_bounded_and_small_ones_still_come_in(desk: Desk) -> None:
    desk.intake.reading.limit = 4 * 1024 * 1024
    announced = {"Content-Length": str(LIMIT)}
    async with wire(desk.url) as first, wire(desk.url) as second:
        for line in (first, second):
            await line.send(head("POST", INSTALLATION, announced), b" " * (LIMIT - 1))
        busy = [asyncio.create_task(line.answer()) for line in (first, second)]
        done, waiting = await asyncio.wait(busy, return_when=asyncio.FIRST_COMPLETED, timeout=10)
        (refused,) = [task.result() for task in done]
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert (await desk.post(desk.message())).json()["status"] == "accepted"
        for task in waiting:
            task.cancel()
    await until(lambda: desk.intake.reading.held == 0)


# --- who is slow, and who does not wait ---------------------------------------------------------


async def fast(desk: Desk, *, at_least: int = 1) -> int:
    """Messages on one connection until one was answered in under 100 ms: the machine may be busy, what
    waits for something is never fast. How many it took.
    """
    took, ends = [1.0], time.monotonic() + 10
    async with wire(desk.url) as line:
        while len(took) <= at_least or min(took) > 0.1:
            assert time.monotonic() < ends, took
            request = desk.request(samples.encode(desk.message()))
            started = time.monotonic()
            await line.send(request)
            assert (await line.answer()).json()["status"] == "accepted"
            took.append(time.monotonic() - started)
    return len(took) - 1


async def test_two_hundred_slow_clients_hold_up_nobody(desk: Desk) -> None:
    """Case D5: each has sent its headers and one byte of its body."""
    lines = [await asyncio.open_connection("127.0.0.1", int(desk.url.rpartition(":")[2])) for _ in range(200)]
    for _reader, writer in lines:
        writer.write(head("POST", channel_path(desk.channel), {"Content-Length": "1000"}) + b"{")
    await fast(desk)
    for _reader, writer in lines:
        writer.transport.abort()


async def test_a_client_that_leaves_after_the_status_line_has_its_message_ingested(desk: Desk) -> None:
    """Case D12: neither the answer waits for ingestion, nor ingestion for the client."""
    with desk.held("messages"):
        started = time.monotonic()
        async with wire(desk.url) as line:
            await line.send(desk.request(samples.encode(desk.message())))
            assert await line.status() == 200
            line.writer.transport.abort()
        assert time.monotonic() - started < 2.0
        assert desk.count("webhook_events_log", "status = 'received' AND valid_signature") == 1
    await until(lambda: desk.count("messages") == 1)
    await until(lambda: desk.count("webhook_events_log", "status = 'processed'") == 1)


async def test_a_client_that_leaves_inside_its_body_leaves_nothing(desk: Desk) -> None:
    async with wire(desk.url) as line:
        await line.send(head("POST", channel_path(desk.channel), {"Content-Length": "1000"}), b"{")
        line.writer.transport.abort()
    assert (await desk.post(desk.message())).status_code == 200
    assert desk.count("webhook_events_log") == 1


async def test_neither_the_answer_nor_the_next_request_waits_for_ingestion(desk: Desk) -> None:
    with desk.held("messages"):
        accepted = await fast(desk, at_least=8)
    await desk.settled()
    assert desk.count("messages") == accepted
    assert desk.count("webhook_events_log", "attempts > 0") == 0


async def test_requests_sent_without_waiting_are_answered_in_order(desk: Desk) -> None:
    bodies = [samples.encode(desk.message()) for _ in range(5)]
    async with wire(desk.url) as line:
        await line.send(*[desk.request(raw) for raw in bodies])
        ids = [(await line.answer()).json()["id"] for _ in bodies]
    found = [bytes(desk.one("SELECT raw_body FROM webhook_events_log WHERE id = %s", i)) for i in ids]
    assert found == bodies


async def test_whoever_wants_the_connection_closed_is_told_so(desk: Desk) -> None:
    raw = samples.encode(desk.message())
    one_zero = desk.request(raw).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    for request in (desk.request(raw, Connection="close"), one_zero):
        async with wire(desk.url) as line:
            await line.send(request)
            answer = await line.answer()
            assert (answer.status, answer.headers["connection"]) == (200, "close")
            assert answer.headers["content-type"] == "application/json"
            assert await line.ended()


async def test_a_body_that_is_there_at_once_is_measured_too(open_desk: OpenDesk) -> None:
    """In chunks nobody announces its size: what came with the head is the first that is known of it."""
    async with open_desk(body_limit=1_000) as desk, wire(desk.url) as line:
        raw = padded(desk, 1_001)
        in_chunks = signed(desk, raw) | {"Transfer-Encoding": "chunked"}
        request = head("POST", channel_path(desk.channel), in_chunks)
        await line.send(request + chunked(raw))
        assert (await line.answer(within=2.0)).status == 413
        assert nothing_archived(desk)


async def test_what_is_archived_is_seen_by_others_before_it_is_looked_at(desk: Desk) -> None:
    """The installation's route needs `channel_sessions` to judge, the archive does not."""
    raw = samples.encode(desk.message())
    with desk.held("channel_sessions"):
        posting = asyncio.create_task(desk.post_to_installation(raw))
        await until(lambda: desk.count("webhook_events_log") == 1)
        row = desk.newest_row()
        assert (row["raw_body"], row["status"], row["valid_signature"]) == (raw, "received", None)
        assert not posting.done()
    assert (await posting).json()["status"] == "accepted"


# --- bytes that are no text ---------------------------------------------------------------------


async def test_odd_bytes_in_a_signature_are_a_wrong_signature(desk: Desk) -> None:
    """Case C3."""
    raw = samples.encode(desk.message())
    length = f"Content-Length: {len(raw)}".encode()
    good = samples.sign(raw, desk.channel.secret)["X-Zernio-Signature"].encode()
    for odd in (
        b"\xe9" + good[1:],
        b"sha256=\xe9" + good[1:],
        b"\xff",
        b"sha256=",
        b"caf\xc3\xa9",
        good + b"\xe9",
    ):
        for path in paths(desk):
            async with wire(desk.url) as line:
                await line.send(head("POST", path, {}, b"X-Zernio-Signature: " + odd, length), raw)
                answer = await line.answer()
                assert (answer.status, answer.json()["code"]) == (401, "invalid_signature"), odd
    assert desk.count("notices") == 0


async def test_a_secret_beyond_ascii_works(desk: Desk) -> None:
    secret = "sécret-ção-0123456789"
    desk.owner.execute("UPDATE channel_sessions SET secret_ciphertext = %s", (encrypted(secret),))
    assert (await desk.post(desk.message(), secret=secret)).json()["status"] == "accepted"


async def test_what_is_no_http_is_the_servers_own_400(desk: Desk) -> None:
    both = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
    broken = [head("POST", INSTALLATION, {"Content-Length": "x"}), head("POST", INSTALLATION, both)]
    for request in (b"POST /caf\xe9 HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n", *broken):
        async with wire(desk.url) as line:
            await line.send(request)
            assert await line.status() == 400
    assert nothing_archived(desk)


async def test_a_bug_is_a_problem_document_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(row: object) -> None:
        raise ZeroDivisionError("only we are to see this")

    monkeypatch.setattr(desk.intake.first_attempts, "schedule", bug)
    answer = await desk.post(desk.message())
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "only we" not in answer.text


# --- memory -------------------------------------------------------------------------------------


async def test_sixty_four_megabytes_in_chunks_cost_no_memory(desk: Desk) -> None:
    """Case D4, six at a time, in a real web process."""
    async with web_process(desk.database.app_url) as web:
        process = psutil.Process(web.pid)

        async def flood(path: str) -> int:
            async with wire(web.url) as line:
                await line.send(head("POST", path, {"Transfer-Encoding": "chunked"}))
                block = b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20))
                try:
                    for _ in range(64):
                        await line.send(block)
                    await line.send(b"0\r\n\r\n")
                except ConnectionError:
                    pass  # refused already
                return (await line.answer()).status

        assert await flood(INSTALLATION) == 413
        before = process.memory_info().rss
        peak = before
        flooding = [asyncio.create_task(flood(path)) for path in paths(desk) * 3]
        while not all(task.done() for task in flooding):
            peak = max(peak, process.memory_info().rss)
            await asyncio.sleep(0.01)
        assert [task.result() for task in flooding] == [413] * len(flooding)
        assert peak - before < 6 * (LIMIT + 2 * 1024 * 1024), f"grew by {(peak - before) >> 20} MiB"
        await until(lambda: desk.count("notices") > 0)
    assert nothing_archived(desk)
