"""The load generator, a process of its own: `python -m bench.load` reads a plan, prints what happened.

Requests are made and signed before the clock starts. **Closed**: each connection sends its next request
once the last is answered. **Open**: requests are due at a fixed rate whether or not earlier ones were
answered; a request that finds no idle connection opens one, up to `connections`, and its time counts
from when it was due, so that a slow server cannot slow down its own examination.
"""

import array
import errno
import json
import math
import select
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from bench import bodies

_READ = 262_144
_LATE = 4.0


@dataclass(frozen=True)
class Plan:
    """What to send. Times in seconds; `rate` per second, 0 for a closed loop; `body` names a maker.

    A closed loop ends when its time is over or its `most` requests are answered; 0: 8,000 for each second.
    """

    port: int
    path: str
    body: str = "zernio"
    account_id: str = ""
    secret: str = ""
    connections: int = 64
    seconds: float = 10.0
    warm_up: float = 1.0
    rate: float = 0.0
    most: int = 0
    senders: int = 5_000
    run: str = "run"
    ids: bool = False


@dataclass
class Outcome:
    """What came back. Times in milliseconds; `rate`: 2xx answers per second; `behind`: how late the
    generator itself sent at worst.
    """

    seconds: float
    rate: float
    answers: dict[str, int]
    accepted: dict[str, float]
    refused: dict[str, float]
    late: int
    unsent: int
    broken: int
    behind: float
    began: float
    ids: list[int] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return self.accepted["p50"]

    @property
    def p99(self) -> float:
        return self.accepted["p99"]


def drive(plan: Plan) -> Outcome:
    """Runs the plan in a process of its own. Raises RuntimeError with that process's last words."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=json.dumps(asdict(plan)), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"the load generator failed: {done.stderr.strip()[-500:]}")
    return Outcome(**json.loads(done.stdout))


class _Connection:
    __slots__ = ("due", "fd", "number", "parts", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock, self.fd = sock, sock.fileno()
        self.due = 0.0
        self.number = -1
        self.parts = b""


class _Run:
    """One run over an epoll loop. Answers that begin in the warm-up are not counted."""

    def __init__(self, plan: Plan, requests: list[bytes]) -> None:
        self.plan, self.requests = plan, requests
        self.poll = select.epoll()
        self.open: dict[int, _Connection] = {}
        self.idle: list[_Connection] = []
        self.next = 0
        self.answers: Counter[int] = Counter()
        self.accepted, self.refused = array.array("d"), array.array("d")
        self.ids: list[int] = []
        self.broken = self.late = 0
        self.behind = 0.0
        self.began = 0.0
        self.first_counted = 0.0
        self.ends = 0.0

    def run(self) -> Outcome:
        unsent = self._open_loop() if self.plan.rate else self._closed_loop()
        seconds = min(time.monotonic(), self.ends) - self.first_counted
        good = sum(n for status, n in self.answers.items() if 200 <= status < 300)
        return Outcome(
            seconds=seconds,
            rate=good / seconds,
            answers={str(status): many for status, many in sorted(self.answers.items())},
            accepted=_summary(self.accepted),
            refused=_summary(self.refused),
            late=self.late,
            unsent=unsent,
            broken=self.broken,
            behind=self.behind * 1000,
            began=self.began,
            ids=self.ids,
        )

    def _start_clock(self) -> None:
        self.began = time.monotonic()
        self.first_counted = self.began + self.plan.warm_up
        self.ends = self.first_counted + self.plan.seconds

    def _closed_loop(self) -> int:
        # At once: a server that lets few wait to be accepted leaves each of the others waiting for a second.
        with ThreadPoolExecutor(self.plan.connections) as threads:
            for _ in range(self.plan.connections):
                threads.submit(self._replace)
        self._start_clock()
        self._send_on(self.began)
        while time.monotonic() < self.ends and len(self.idle) < len(self.open):
            self._answered(0.1)
            self._send_on(time.monotonic())
        return 0

    def _send_on(self, now: float) -> None:
        while self.idle and self.next < len(self.requests):
            self._send(self.idle.pop(), now)

    def _open_loop(self) -> int:
        self._start_clock()
        rate, due, sent = self.plan.rate, deque[float](), 0
        total = int(rate * (self.plan.warm_up + self.plan.seconds))
        while sent < total or due:
            now = time.monotonic()
            while sent < total and self.began + sent / rate <= now:
                due.append(self.began + sent / rate)
                sent += 1
            while due and (connection := self._free()):
                self._send(connection, due.popleft())
            self._answered(0.0005)
            if now > self.ends + 1.0:
                break
        # Whatever was sent is waited for: an answer that comes late is a finding, not a gap.
        patience = time.monotonic() + 15
        while len(self.idle) < len(self.open) and time.monotonic() < patience:
            self._answered(0.1)
        self.broken += len(self.open) - len(self.idle)
        return len(due)

    def _free(self) -> _Connection | None:
        if self.idle:
            return self.idle.pop()
        return self._connect() if len(self.open) < self.plan.connections else None

    def _connect(self) -> _Connection | None:
        try:
            sock = socket.create_connection(("127.0.0.1", self.plan.port), timeout=2)
        except OSError:
            self.broken += 1
            return None
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        made = _Connection(sock)
        self.open[made.fd] = made
        self.poll.register(made.fd, select.EPOLLIN)
        return made

    def _send(self, connection: _Connection, due: float) -> None:
        connection.number, connection.due = self.next, due
        self.behind = max(self.behind, time.monotonic() - due)
        request = self.requests[self.next]
        self.next += 1
        try:
            sent = connection.sock.send(request)
            if sent < len(request):
                connection.sock.setblocking(True)
                connection.sock.sendall(request[sent:])
                connection.sock.setblocking(False)
        except OSError:
            self._drop(connection)

    def _answered(self, wait: float) -> None:
        for fd, _events in self.poll.poll(wait):
            connection = self.open[fd]
            try:
                data = connection.sock.recv(_READ)
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    continue
                data = b""
            if not data:
                self._drop(connection)
                continue
            data = connection.parts + data
            end = _length(data)
            if end is None or len(data) < end:
                connection.parts = data
                continue
            connection.parts = b""
            self._count(connection, int(data[9:12]))
            if b"onnection: close" in data[:end]:
                self._close(connection)
                self._replace()
            else:
                self.idle.append(connection)

    def _count(self, connection: _Connection, status: int) -> None:
        now = time.monotonic()
        took, good = now - connection.due, 200 <= status < 300
        if self.plan.ids and good:
            self.ids.append(connection.number)
        if connection.due < self.first_counted or (now > self.ends and not self.plan.rate):
            return
        self.answers[status] += 1
        self.late += took > _LATE
        (self.accepted if good else self.refused).append(took)

    def _drop(self, connection: _Connection) -> None:
        self.broken += 1
        self._close(connection)
        self._replace()

    def _replace(self) -> None:
        """A closed loop keeps its number of connections; a server that takes no more has fewer."""
        if not self.plan.rate and (made := self._connect()):
            self.idle.append(made)

    def _close(self, connection: _Connection) -> None:
        self.poll.unregister(connection.fd)
        del self.open[connection.fd]
        connection.sock.close()


def _length(data: bytes) -> int | None:
    """Bytes of the whole answer, or None while its head is not whole."""
    head = data.find(b"\r\n\r\n")
    if head < 0:
        return None
    lower = data[:head].lower()
    at = lower.find(b"content-length:")
    if at < 0:
        if b"chunked" in lower:
            return len(data) if data.endswith(b"0\r\n\r\n") else len(data) + 1
        return head + 4
    stop = lower.find(b"\r\n", at)
    return head + 4 + int(lower[at + 15 : stop if stop > 0 else head])


def _summary(took: "array.array[float]") -> dict[str, float]:
    ordered = sorted(took)
    if not ordered:
        return {"n": 0, "p50": math.nan, "p95": math.nan, "p99": math.nan, "max": math.nan}

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 3)

    return {"n": len(ordered), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1.0)}


def main() -> None:
    plan = Plan(**json.load(sys.stdin))
    count = int((plan.rate or 8_000) * (plan.warm_up + plan.seconds)) + 1
    if plan.most:
        count = plan.most
    made: Any = bodies.requests(
        plan.body, plan.path, count, account_id=plan.account_id, secret=plan.secret, run=plan.run,
        senders=plan.senders,
    )  # fmt: skip
    json.dump(asdict(_Run(plan, made).run()), sys.stdout)


if __name__ == "__main__":
    main()
