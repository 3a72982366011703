"""The front desk under attack: where to send to, and whether it took harm."""

import hmac
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx

from portaria.identity.secret_box import SecretBox
from portaria.identity.sign_in import SignedIn
from portaria.identity.tokens import Tokens
from portaria.intake.providers import samples
from tests.conftest import TestDatabase
from tests.support.factory import Factory
from tests.support.http import INSTALLATION_SECRET, SECRET_KEY

FUZZ: Final = int(os.environ.get("FUZZ", "300"))
SECRET: Final = "segredo-inventado-zernio-0123456789"
ACCOUNTS_TOKEN: Final = "ficha-inventada-do-accounts-0123456789"
INSTALLATION: Final = "/api/v1/webhooks/canal-da-instalacao"
EVENTS: Final = "/api/v1/incoming_events"
_ROOT = Path(__file__).parents[2]
# What a log must not hold, whatever is sent: these are faults of ours.
_FAULTS: Final = ("Traceback", "api_failed", "console_failed", "door_failed", '"level":"error"', "[error")


def share(part: float) -> int:
    """How many of a run's inputs a test makes."""
    return max(10, int(FUZZ * part))


class Target:
    """One organization with a channel of each kind, a form, an admin who is an operator."""

    def __init__(self, database: TestDatabase, make: Factory, box: SecretBox, folder: Path) -> None:
        self.database, self.make, self.folder = database, make, folder
        self.inputs = 0
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.organization_id = make.organization()
        ciphertext = box.encrypt(SECRET)
        self.channel = make.channel(
            self.organization_id, phone_number="+551130009999", secret_ciphertext=ciphertext, secret=SECRET
        )
        self.social = make.channel(
            self.organization_id, provider="zernio_social", phone_number=None, secret_ciphertext=ciphertext,
            secret=SECRET,
        )  # fmt: skip
        self.form = secrets.token_urlsafe(12)
        make.conn.execute(
            "INSERT INTO lead_forms (organization_id, id, path_token, name)"
            " VALUES (%s, gen_random_uuid(), %s, 'x')",
            (self.organization_id, self.form),
        )
        self.admin = make.member(self.organization_id, "Chefe", role="admin")
        make.conn.execute("UPDATE users SET is_operator = true WHERE id = %s", (self.admin,))
        self.token = Tokens(box, 36_000).issue(SignedIn(self.admin, 0))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=30)

    @property
    def doors(self) -> list[str]:
        """Where a provider's deliveries go."""
        return [
            f"/api/v1/webhooks/channel/{self.channel.token}", f"/api/v1/webhooks/channel/{self.social.token}",
            INSTALLATION,
        ]  # fmt: skip

    @contextmanager
    def running(self) -> Iterator[None]:
        env = os.environ | {
            "DATABASE_URL": self.database.app_url, "PORTARIA_SECRET_KEY": SECRET_KEY,
            "PORTARIA_INSTALLATION_SECRET": INSTALLATION_SECRET, "ACCOUNTS_WEBHOOK_TOKEN": ACCOUNTS_TOKEN,
            "PORTARIA_PORT": str(self.port), "PORTARIA_FORM_RATE": "0", "PORTARIA_LOG_LEVEL": "warning",
            "PORTARIA_SIGN_IN_PER_ADDRESS": "1000000",
        }  # fmt: skip
        for name in ("web", "worker"):
            with (self.folder / f"{name}.log").open("wb") as log:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, "-m", "portaria", name], env=env, stdout=log, stderr=log, cwd=_ROOT
                )
        try:
            until(self.listens, within=60)
            yield
            print(f"\n{self.inputs} inputs")
        finally:
            for process in self.processes.values():
                process.kill()
                process.wait()

    def listens(self) -> bool:
        assert self.processes["web"].poll() is None, self.log("web")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def send(
        self, method: str, path: str, raw: bytes, headers: dict[str, Any] | None = None
    ) -> httpx.Response:
        """One input. Never a fault of ours."""
        self.inputs += 1
        answer = self.client.request(method, path, content=raw, headers=headers or {})
        assert answer.status_code not in (500, 503), (answer.text, path, raw[:500], headers)
        if answer.status_code >= 400 and answer.headers.get("content-type", "").startswith("application/"):
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["code"]
        return answer

    def deliver(self, door: str, raw: bytes, **headers: str) -> httpx.Response:
        """As the provider would: signed."""
        secret = INSTALLATION_SECRET if door == INSTALLATION else SECRET
        signature = hmac.digest(secret.encode(), raw, "sha256").hex()
        return self.send("POST", door, raw, {"X-Zernio-Signature": signature, **headers})

    def ask(self, path: str) -> httpx.Response:
        """Of the API, as the admin."""
        return self.client.get(path, headers={"Authorization": f"Bearer {self.token}"})

    def rows(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        return self.make.conn.execute(query, params or None).fetchall()

    def check(self) -> None:
        """Nothing took harm: raises otherwise."""
        message = samples.message_received(
            self.channel.account_id,
            f"honest-{secrets.token_hex(8)}",
            "+5511987650001",
            "Olá",
            datetime.now(UTC),
        )
        assert self.deliver(self.doors[0], samples.encode(message)).json()["status"] == "accepted"
        until(lambda: not self.rows("SELECT 1 FROM webhook_events_log WHERE processed_at IS NULL LIMIT 1"))
        for name, process in self.processes.items():
            assert process.poll() is None, self.log(name)
            said = self.log(name)
            assert [line for line in said.splitlines() if any(fault in line for fault in _FAULTS)] == []
        poisoned = self.rows(
            "SELECT id, error_message FROM webhook_events_log WHERE (attempts > 0 OR status = 'dead')"
            " AND (organization_id = %s OR organization_id IS NULL)",
            self.organization_id,
        )
        assert poisoned == [], "an input made a try fail"


def until(condition: Any, within: float = 30.0) -> None:
    ends = time.monotonic() + within
    while not condition():
        assert time.monotonic() < ends, f"not within {within} s"
        time.sleep(0.01)
