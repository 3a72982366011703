"""Nothing secret leaves: not in a log at its most talkative, not in an answer, a header that is archived,
the audit, a notice, a command's output, nor in the database in the clear.
"""

import json
from pathlib import Path
from typing import Any

import httpx
import psycopg

from portaria.db.embedded import EmbeddedServer
from portaria.intake.providers import samples
from tests.conftest import APP_PASSWORD, TestDatabase
from tests.security.processes import free_port, run, running, until
from tests.support.dump import dump, found_in
from tests.support.factory import Factory

SECRETS = {
    "secret key": "chave-secreta-plantada-0123456789-abcdef",
    "previous key": "chave-anterior-plantada-0123456789-abcdef",
    "installation secret": "segredo-da-instalacao-plantado-01234",
    "accounts token": "ficha-plantada-do-accounts-0123456789",
    "accounts signature": "whsec_cGxhbnRhZG8tcGFyYS1vcy10ZXN0ZXMtMDEyMw==",
    "vapid key": "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI",
    "database password": APP_PASSWORD,
}
PASSWORD = "senha-plantada-do-admin-1"
SENT = {
    "authorization": "Bearer credencial-plantada-bearer", "cookie": "portaria=biscoito-plantado-no-cabecalho",
    "x-api-key": "chave-de-api-plantada-0123", "proxy-authorization": "Basic cGxhbnRhZG86cHJveHk=",
}  # fmt: skip
SENT_WORDS = {
    "credencial-plantada-bearer", "biscoito-plantado-no-cabecalho", "chave-de-api-plantada-0123",
    "cGxhbnRhZG86cHJveHk=",
}  # fmt: skip


def settings(database: TestDatabase) -> dict[str, str]:
    return {
        "DATABASE_URL": database.app_url, "PORTARIA_SECRET_KEY": SECRETS["secret key"],
        "PORTARIA_PREVIOUS_SECRET_KEYS": SECRETS["previous key"],
        "PORTARIA_INSTALLATION_SECRET": SECRETS["installation secret"],
        "ACCOUNTS_WEBHOOK_TOKEN": SECRETS["accounts token"],
        "PORTARIA_ACCOUNTS_SIGNATURE_SECRET": SECRETS["accounts signature"],
        "PORTARIA_VAPID_PRIVATE_KEY": SECRETS["vapid key"], "PORTARIA_LOG_LEVEL": "debug",
    }  # fmt: skip


class Visitor:
    """Keeps every answer."""

    def __init__(self, port: int) -> None:
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
        self.answers: list[str] = []

    def ask(self, method: str, path: str, *, quiet: bool = False, **more: Any) -> httpx.Response:
        """`quiet`: an answer that may hold a secret, made for the one who asks."""
        answer = self.client.request(method, path, **more)
        if not quiet:
            self.answers.append(f"{answer.status_code} {answer.headers} {answer.text}")
        return answer


def test_what_is_secret_stays_so(
    server: EmbeddedServer, database: TestDatabase, owner: psycopg.Connection, tmp_path: Path
) -> None:
    port, given = free_port(), settings(database)
    as_owner = {**given, "DATABASE_URL": database.owner_url}
    Factory(owner).organization("Loja")
    added = run("member", "add", "ana@exemplo.test", "--role", "admin", "--json", **as_owner)
    assert added.returncode == 0, added.stderr
    made_password = json.loads(added.stdout)["password"]
    secrets = {*SECRETS.values(), PASSWORD, made_password}
    with running(tmp_path, port, given) as said:
        visitor = Visitor(port)
        signed_in = sign_in(visitor, made_password, PASSWORD)
        secrets |= signed_in["secrets"]
        channel = everything_that_is_refused(visitor, signed_in["headers"])
        secrets |= channel
        while_the_database_is_away(visitor, owner, database)
        until(lambda: visitor.client.get("/healthz").status_code == 200)
        logged = said()
    assert len(logged) > 2000, "a log that says nothing proves nothing"
    assert {s for s in secrets | SENT_WORDS if s in logged} == set()
    assert {s for s in secrets | SENT_WORDS if s in "\n".join(visitor.answers)} == set()
    kept = dump(server.bin_dir, database.owner_url)
    assert found_in(kept, {"ana@exemplo.test"}) == {"ana@exemplo.test"}
    assert found_in(kept, secrets | SENT_WORDS) == set()
    headers = owner.execute("SELECT headers FROM webhook_events_log").fetchall()
    assert len(headers) >= 3
    assert {name for (kept_headers,) in headers for name in kept_headers} & SENT.keys() == set()
    done = run("webhooks", "list", "--json", **as_owner)
    assert {s for s in secrets if s in done.stdout + done.stderr} == set()


def sign_in(visitor: Visitor, made: str, new: str) -> dict[str, Any]:
    """With a wrong password, the right one, and another one set."""
    for email, password in (("ana@exemplo.test", PASSWORD), ("x", made), ("ana@exemplo.test", made * 9)):
        visitor.ask("POST", "/api/v1/auth/token", json={"email": email, "password": password})
        visitor.ask("POST", "/sign-in", data={"email": email, "password": password})
    answer = visitor.ask(
        "POST", "/api/v1/auth/token", quiet=True, json={"email": "ana@exemplo.test", "password": made}
    )
    first = answer.json()["access_token"]
    bearer = {"Authorization": f"Bearer {first}"}
    changed = visitor.ask(
        "POST", "/api/v1/auth/password", quiet=True, headers=bearer,
        json={"current_password": made, "new_password": new},
    )  # fmt: skip
    token = changed.json()["access_token"]
    return {"headers": {"Authorization": f"Bearer {token}"}, "secrets": {first, token}}


def everything_that_is_refused(visitor: Visitor, admin: dict[str, str]) -> set[str]:
    """Good and bad deliveries at every door, with credentials that are none of the door's business."""
    made = visitor.ask(
        "POST", "/api/v1/channels", quiet=True, headers=admin,
        json={"provider": "zernio", "account_id": "conta-1", "phone_number": "+551130009999"},
    ).json()  # fmt: skip
    rotated = visitor.ask(
        "POST", f"/api/v1/channels/{made['id']}/rotate-secret", quiet=True, headers=admin, json={}
    ).json()
    secret, older = rotated["secret"], made["secret"]
    path = f"/api/v1/webhooks/channel/{made['url'].rsplit('/', 1)[1]}"
    message = samples.encode(
        samples.message_received("conta-1", "w1", "+5511987650001", "Olá", samples.datetime.now(samples.UTC))
    )
    for with_secret in (secret, older, "nobody's-secret-0123456789"):
        for raw in (message, b"{", b"[]", b'{"event": "message.received"}'):
            visitor.ask("POST", path, content=raw, headers=samples.sign(raw, with_secret) | SENT)
    installation = "/api/v1/webhooks/canal-da-instalacao"
    visitor.ask("POST", installation, content=b"{}", headers=SENT | samples.sign(b"{}", "x" * 20))
    for bearer in (SECRETS["accounts token"], SECRETS["accounts token"] + "x", "x"):
        headers = {**SENT, "authorization": f"Bearer {bearer}"}
        visitor.ask("POST", "/api/v1/incoming_events", content=b"{}", headers=headers)
    for method, url in (
        ("GET", "/api/v1/channels"), ("GET", f"/api/v1/channels/{made['id']}"), ("GET", "/api/v1/audit"),
        ("GET", "/api/v1/webhook-events"), ("GET", "/api/v1/notices"), ("GET", "/api/v1/me"),
        ("POST", "/api/v1/channels"), ("GET", "/readyz"), ("GET", "/metrics"),
        ("GET", "/schema/openapi.json"),
    ):  # fmt: skip
        visitor.ask(method, url, headers=admin)
    for row in visitor.ask("GET", "/api/v1/webhook-events", headers=admin).json()["items"]:
        visitor.ask("GET", f"/api/v1/webhook-events/{row['id']}", headers=admin)
    visitor.ask("GET", "/api/v1/me", headers={"Authorization": admin["Authorization"] + "x"})
    return {secret, older}


def while_the_database_is_away(visitor: Visitor, owner: psycopg.Connection, database: TestDatabase) -> None:
    """Errors of the driver love to name the connection."""
    with psycopg.connect(database.owner_url.replace(database.name, "postgres"), autocommit=True) as other:
        other.execute(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS false")  # type: ignore[arg-type]
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s",
            (database.name, owner.info.backend_pid),
        )
        try:
            for path in ("/readyz", "/sign-in", "/", "/api/v1/me", "/api/v1/webhooks/canal-da-instalacao"):
                visitor.ask("POST" if "webhooks" in path else "GET", path, content=b"{}")
            visitor.ask("POST", "/api/v1/auth/token", json={"email": "a@b.co", "password": PASSWORD})
        finally:
            other.execute(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS true")  # type: ignore[arg-type]


def test_web_does_not_start_without_a_real_secret_key(database: TestDatabase) -> None:
    refused = run("web", DATABASE_URL=database.app_url, PORTARIA_SECRET_KEY="x" * 31, PORTARIA_PORT="0")
    assert refused.returncode == 1
    assert "PORTARIA_SECRET_KEY" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_commands_that_need_the_key_do_not_make_one_up(database: TestDatabase, make: Factory) -> None:
    owner_url = {"DATABASE_URL": database.owner_url}
    make.organization("Loja")
    refused = run("channel", "create", "conta-1", **owner_url)
    assert refused.returncode == 1, refused.stdout
    assert "PORTARIA_SECRET_KEY" in refused.stderr


def test_neither_process_starts_as_owner_of_the_tables(database: TestDatabase) -> None:
    for name in ("web", "worker"):
        refused = run(
            name, DATABASE_URL=database.owner_url, PORTARIA_SECRET_KEY=SECRETS["secret key"],
            PORTARIA_PORT=str(free_port()),
        )  # fmt: skip
        assert refused.returncode != 0
        assert "portaria_app" in refused.stderr
