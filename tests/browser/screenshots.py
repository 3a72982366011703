"""The pictures of `docs/screenshots/`: python -m tests.browser.screenshots

A made-up shop on a database of its own, at 1280 and at 360 pixels; made smaller by pngquant where that
is installed.
"""

import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from playwright.sync_api import Browser, Page, sync_playwright

from portaria.db.migrate import migrate
from portaria.intake.providers import samples
from tests.browser.conftest import Pages
from tests.browser.scene import Scene
from tests.conftest import APP_PASSWORD, app_url
from tests.console.workbench import FrontDesk, front_desk
from tests.support.browser import FLAGS, find_chromium
from tests.support.postgres import start_test_server

FOLDER = Path(__file__).parent.parent.parent / "docs/screenshots"
PEOPLE = [
    ("Maria Helena Cardoso", "Olá, vocês têm horário amanhã à tarde?"),
    ("João Pereira", "Boa tarde! Quanto custa a revisão de 20 mil km?"),
    ("Lívia Nogueira", "Meu pedido ainda não chegou, podem ver?"),
    ("Tiago Ramos", "Vocês aceitam cartão em 6 vezes?"),
    ("Beatriz Lopes", "Consegui agendar pelo site, obrigada!"),
    ("Rafael Antunes", "Preciso remarcar a visita de quinta"),
    ("Camila Duarte", "Qual o endereço da loja?"),
    ("Otávio Brandão", "Ainda tem a cor azul?"),
    ("Renata Figueiredo", "Podem me ligar depois das 18h?"),
    ("Paulo Meireles", "Fechado, vamos em frente."),
]
SIZES = [(1280, 860, "light", 1.0), (360, 720, "light", 2.0), (1280, 860, "dark", 1.0)]
NUMBERS = random.Random(7)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with _database() as (owner_url, url), front_desk(url) as desk, sync_playwright() as playwright:
        program = find_chromium()
        if program is None:
            raise SystemExit("no Chromium found")
        chromium = playwright.chromium.launch(executable_path=str(program), args=list(FLAGS[1:]))
        with psycopg.connect(owner_url, autocommit=True) as owner:
            scene, email = _shop(desk, owner)
            _shoot(chromium, desk, owner, scene, email)
        chromium.close()
    _smaller()


@contextmanager
def _database() -> Iterator[tuple[str, str]]:
    server = start_test_server()
    try:
        server.create_database("pictures")
        migrate(server.url("pictures"), app_password=APP_PASSWORD)
        yield server.url("pictures"), app_url(server.url("pictures"))
    finally:
        server.stop()


def _shop(desk: FrontDesk, owner: psycopg.Connection) -> tuple[Scene, str]:
    scene = Scene.open(desk, owner, "Clínica Boa Vista")
    owner.execute("UPDATE channel_sessions SET name = 'WhatsApp da clínica', state = 'connected'")
    team = [scene.member(name) for name in ("Ana Souza", "Bruno Lima", "Carla Dias", "Diego Prado")]
    scene.rule(*team, name="Rodízio dos leads novos", paused=(team[1],))
    email = Pages(desk, owner, lambda **_: None).person(  # type: ignore[arg-type, return-value]
        scene.organization, "Helena Prado", "admin"
    )
    now = datetime.now(UTC)
    for number, (name, text) in enumerate(PEOPLE):
        at = now - timedelta(minutes=3 + 17 * number)
        scene.arrives(text, name=name, phone=f"+55119876500{number:02d}", sent_at=at)
    _thread(scene, now)
    _until(lambda: scene.one("SELECT count(*) FROM automation_rodizio_atribuicoes") == len(PEOPLE))
    for title, hours in (("Orçamento de implante", 75), ("Plano família", 26), ("Segunda opinião", 2)):
        _unowned(scene, title, hours)
    owner.execute(
        "UPDATE crm_leads SET stage = 'visita marcada' WHERE title IN ('João Pereira', 'Tiago Ramos')"
    )
    owner.execute(
        "UPDATE crm_leads SET stage = 'proposta' WHERE title IN ('Camila Duarte', 'Paulo Meireles')"
    )
    _troubles(scene)
    _figures(scene)
    return scene, email


def _thread(scene: Scene, now: datetime) -> None:
    """What a conversation looks like when people talk."""
    account, phone, [(name, _), *_] = scene.channel.account_id, "+5511987650000", PEOPLE
    sent = [("Temos sim! Às 14h ou às 16h30?", 2.6), ("Perfeito, marcado. Até amanhã!", 1.2)]
    for number, (text, minutes) in enumerate(sent):
        at = now - timedelta(minutes=minutes)
        scene.send(samples.message_sent(account, f"wamid.OUT{number}", phone, text, at, name))
        scene.send(samples.outcome("read", account, f"wamid.OUT{number}", phone, at + timedelta(seconds=9)))
    picture = [{"type": "image", "url": "https://example.test/1"}]
    for text, minutes, more in [
        ("Pode ser às 16h30", 2.0, {}), (None, 1.6, {"attachments": picture}), ("Obrigada!", 0.4, {}),
    ]:  # fmt: skip
        at = now - timedelta(minutes=minutes)
        scene.arrives(text, name=name, phone=phone, sent_at=at, **more)  # type: ignore[arg-type]


def _unowned(scene: Scene, title: str, hours: int) -> None:
    lead = scene.lead(title, hours=hours, contact="Sofia Martins")
    _until(lambda: scene.one("SELECT owner_user_id FROM crm_leads WHERE id = %s", lead) is not None)
    scene.owner.execute("UPDATE crm_leads SET owner_user_id = NULL WHERE id = %s", (lead,))


def _troubles(scene: Scene) -> None:
    arrival = scene.any_of("webhook_events_log")
    for _ in range(3):
        scene.notice(
            "Uma mensagem do número oficial não entrou no CRM",
            "Uma mensagem aceita não pôde ser gravada a tempo. Confira as conversas no painel do provedor e"
            " responda por lá o que faltar.",
            arrival=arrival,
        )
    scene.notice(
        'Modelo "lembrete_consulta": REJECTED',
        "O provedor mudou a situação do modelo. Motivo informado: TAG_CONTENT_MISMATCH. Veja o modelo no"
        " painel do provedor.",
        kind="channel_template_review",
    )


def _figures(scene: Scene) -> None:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    for minute in range(60):
        for outcome, most in (("accepted", 34), ("processed", 22), ("ignored", 2), ("refused", 1)):
            for bucket in (1, 2, 3, 3, 4, 6):
                answers = NUMBERS.randint(0, max(1, most // (1 + abs(bucket - 3))))
                if answers:
                    scene.owner.execute(
                        "INSERT INTO intake_minutes VALUES (%s, 1, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                        (scene.organization, now - timedelta(minutes=minute), outcome, bucket, answers),
                    )


def _shoot(chromium: Browser, desk: FrontDesk, owner: psycopg.Connection, scene: Scene, email: str) -> None:
    conversation = scene.one("SELECT conversation_id FROM messages WHERE external_id = 'wamid.OUT0'")
    lead = scene.one("SELECT id FROM crm_leads WHERE title = 'João Pereira'")
    shots = {
        "overview": "/", "notices": "/notices", "conversation": f"/conversations/{conversation}",
        "leads": "/leads?view=board", "lead": f"/leads/{lead}",
        "rotation": f"/automations/{scene.any_of('automation_rules')}", "arrivals": "/arrivals",
        "arrival": f"/arrivals/{scene.any_of('webhook_events_log')}",
    }  # fmt: skip
    pages = Pages(desk, owner, chromium.new_context)
    for width, height, theme, scale in SIZES:
        page = pages.at_work(
            email, viewport={"width": width, "height": height}, color_scheme=theme, device_scale_factor=scale
        )
        for name, path in shots.items():
            if theme == "light" or name in ("overview", "rotation"):
                _picture(page, path, FOLDER / f"{name}-{width}{'-dark' if theme == 'dark' else ''}.png")


def _picture(page: Page, path: str, file: Path) -> None:
    page.goto(path)
    if "/leads/" in path:
        page.get_by_text("Quem foi considerado").click()
    page.wait_for_timeout(400)
    page.screenshot(path=str(file))


def _smaller() -> None:
    if shutil.which("pngquant"):
        for file in FOLDER.glob("*.png"):
            subprocess.run(["pngquant", "--force", "--strip", "--ext", ".png", "64", str(file)], check=True)


def _until(condition: Callable[[], bool], within: float = 30.0) -> None:
    ends = time.monotonic() + within
    while not condition():
        if time.monotonic() > ends:
            raise SystemExit("the shop did not get ready in time")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
