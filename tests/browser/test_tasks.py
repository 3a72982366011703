"""Each page's main task, in both languages: the words are asked of the catalog that the pages use."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
import pytest
from playwright.sync_api import Page, expect

from portaria.console.language import Language
from portaria.intake.providers import samples
from tests.browser.conftest import Pages
from tests.browser.scene import ODD, Scene
from tests.console.workbench import FrontDesk

BOTH = pytest.mark.parametrize("locale", ["pt_BR", "en"])


@dataclass
class Worker:
    """Somebody at a page, with the words of their language."""

    scene: Scene
    page: Page
    say: Callable[..., str]

    def button(self, sentence: str, **values: object) -> None:
        self.page.get_by_role("button", name=self.say(sentence, **values), exact=True).click()

    def sees(self, sentence: str, **values: object) -> None:
        expect(self.page.get_by_text(self.say(sentence, **values)).first).to_be_visible()


@pytest.fixture
def worker(pages: Pages, desk: FrontDesk, owner: psycopg.Connection, locale: str) -> Worker:
    """An admin of an organization of their own."""
    scene = Scene.open(desk, owner)
    page = pages.at_work(pages.person(scene.organization, "Chefe", "admin", locale=locale))
    return Worker(scene, page, lambda sentence, **values: str(Language(locale).say(sentence, **values)))


@BOTH
def test_notices_arrive_live_fifty_at_once_as_one_and_are_resolved(worker: Worker, locale: str) -> None:
    page, title = worker.page, "Uma mensagem do número oficial não entrou no CRM"
    page.goto("/notices")
    worker.sees("Nothing to do")
    for _ in range(50):
        worker.scene.notice(title, "Uma mensagem aceita não pôde ser gravada a tempo.")
    notice = page.get_by_role("article")
    expect(notice).to_have_count(1)
    expect(notice).to_contain_text(worker.say("A message of the official number did not enter the CRM"))
    expect(notice).to_contain_text(worker.say("An accepted message could not be stored in time."))
    page.reload()
    expect(notice).to_contain_text("50")
    worker.button("Acknowledge")
    expect(notice).to_contain_text(worker.say("Acknowledged"))
    worker.button("Resolve")
    expect(notice).to_have_count(0)
    expect(page.locator("#badge-notices")).to_have_attribute("data-count", "0")
    page.get_by_role("link", name=worker.say("Resolved ones")).click()
    expect(notice).to_contain_text(worker.say("Resolved"))


@BOTH
def test_a_conversation_shows_what_became_of_its_messages(worker: Worker, locale: str) -> None:
    scene, page = worker.scene, worker.page
    account, phone = scene.channel.account_id, "+5511987650001"
    scene.arrives("primeira versão", external_id="wamid.edited" + scene.channel.token)
    scene.arrives(None, attachments=[{"type": "image", "url": "https://x.example/1"}])
    scene.arrives("[Unsupported message]", metadata={"unsupported": {"code": 131051, "title": "x"}})
    now = samples.datetime.now(samples.UTC)
    scene.send(samples.message_sent(account, "wamid.gone" + scene.channel.token, phone, "apagada", now))
    scene.send(samples.edited(account, "wamid.edited" + scene.channel.token, phone, "segunda versão", now))
    scene.send(samples.deleted(account, "wamid.gone" + scene.channel.token, phone, now))
    page.goto("/conversations")
    page.get_by_role("link", name=re.compile("Maria Cardoso")).click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("segunda versão")
    expect(log).to_contain_text(worker.say("edited"))
    expect(log).to_contain_text(worker.say("Picture"))
    expect(log).to_contain_text(worker.say("A kind of message that WhatsApp does not pass on"))
    expect(log).to_contain_text(worker.say("This message was deleted by its sender."))
    assert not page.get_by_text("apagada", exact=True).is_visible()


@BOTH
def test_a_lead_is_made_given_and_the_unowned_are_handed_over(worker: Worker, locale: str) -> None:
    scene, page = worker.scene, worker.page
    ana = scene.member("Ana Souza")
    page.goto("/leads/new")
    page.locator("#name").fill("Rosa Lima")
    worker.button("Create the lead")
    expect(page.get_by_role("alert")).to_have_text(worker.say("A lead needs a phone or an e-mail."))
    page.locator("#phone").fill("11 98765-4321")
    worker.button("Create the lead")
    worker.sees("The lead is created.")
    page.locator("#new-owner").select_option(str(ana))
    worker.button("Give")
    worker.sees("The lead has its new owner.")
    scene.lead("Orçamento", hours=30)
    scene.rule(ana)
    page.goto("/leads?owner=none")
    expect(page.get_by_role("row").filter(has_text="Orçamento")).to_be_visible()
    worker.button("Hand over")
    page.goto("/leads")
    expect(page.get_by_role("row").filter(has_text="Orçamento")).to_contain_text("Ana Souza")


@BOTH
def test_an_arrival_is_shown_byte_for_byte_and_replayed_by_filter(worker: Worker, locale: str) -> None:
    scene, page = worker.scene, worker.page
    scene.send(ODD, status=400)
    for number in range(3):
        scene.arrives(phone=f"+551198765000{number}")
    page.goto("/arrivals?status=error")
    page.locator(".row-link").click()
    raw = page.locator("pre.raw").inner_text()
    assert raw == ODD.decode("latin-1").replace("\xff", "\\xFF").replace("\x00", "\\x00")
    with page.expect_download() as download:
        page.get_by_role("link", name=worker.say("Download")).click()
    assert download.value.path().read_bytes() == ODD
    scene.owner.execute(
        "UPDATE webhook_events_log SET status = 'dead' WHERE organization_id = %s AND status = 'processed'",
        (scene.organization,),
    )
    page.goto("/arrivals/replay")
    expect(page.locator("#progress")).to_contain_text("3")
    page.locator("#progress button").click()
    expect(page.locator("#progress")).to_contain_text(worker.say("All done"))
    expect(page.locator("#progress progress")).to_have_attribute("max", "3")
    left = "SELECT count(*) FROM webhook_events_log WHERE organization_id = %s AND status = 'dead'"
    assert scene.one(left, scene.organization) == 0


@BOTH
def test_an_accounts_event_that_failed_starts_anew(worker: Worker, locale: str) -> None:
    scene, page = worker.scene, worker.page
    scene.owner.execute(
        "UPDATE users SET is_operator = true WHERE id IN"
        " (SELECT user_id FROM user_organizations WHERE organization_id = %s)",
        (scene.organization,),
    )
    scene.desk.accounts_event(event := f"evt-{scene.channel.token}")
    row = scene.one("SELECT id FROM incoming_events WHERE event_id = %s", event)
    scene.owner.execute(
        "UPDATE incoming_events SET status = 'failed', attempts = 3, processed_at = now(),"
        " attempt_job = NULL, attempt_started_at = NULL WHERE id = %s",
        (row,),
    )
    page.goto(f"/accounts-events?event_id={event}")
    page.locator(".row-link").click()
    expect(page.locator("pre.raw")).to_contain_text(event)
    worker.button("Reprocess")
    worker.sees("The event starts anew. Its outcome appears here within seconds.")
    expect(page.locator("dl")).to_contain_text(re.compile(worker.say("%(n)s of 3", n="[12]")))


@BOTH
def test_a_channels_secret_is_rotated_and_the_channel_archived(worker: Worker, locale: str) -> None:
    scene, page = worker.scene, worker.page
    page.goto(f"/channels/{scene.channel.id}")
    worker.button("Rotate the secret")
    fresh = page.locator("#new-secret").input_value()
    scene.channel = type(scene.channel)(**{**vars(scene.channel), "secret": fresh})
    scene.arrives("com o segredo novo")
    page.goto(f"/channels/{scene.channel.id}")
    expect(page.locator("#new-secret")).to_have_count(0)
    worker.button("Archive the channel")
    worker.sees("The channel is archived. What still arrives for it is kept and ignored.")


@BOTH
def test_a_forms_link_makes_a_lead(worker: Worker, locale: str) -> None:
    page = worker.page
    page.goto("/forms/new")
    page.locator("#name").fill("Orçamento")
    worker.button("Save")
    worker.sees("The form is saved.")
    expect(page.locator("#snippet")).to_have_value(re.compile("/api/v1/lead-forms/"))
    page.goto(page.locator("#form-link").input_value())
    page.locator("[name=name]").fill("Rosa Lima")
    page.locator("[name=email]").fill("rosa@exemplo.test")
    page.locator("button").click()
    page.goto("/leads")
    expect(page.get_by_role("row").filter(has_text="Rosa Lima")).to_be_visible()


@BOTH
def test_somebody_invited_signs_in_and_when_revoked_is_out(worker: Worker, pages: Pages, locale: str) -> None:
    page, email = worker.page, f"bia-{worker.scene.channel.token}@exemplo.test"
    page.goto("/members")
    page.locator("#name").fill("Bia Melo")
    page.locator("#email").fill(email)
    worker.button("Invite")
    password = page.locator("#new-password").input_value()
    hers = pages.anybody(locale=locale.replace("_", "-"))
    hers.goto("/sign-in")
    hers.locator("#email").fill(email)
    hers.locator("#password").fill(password)
    hers.keyboard.press("Enter")
    expect(hers.locator(".me-name")).to_have_text("Bia Melo")
    page.goto("/members")
    page.get_by_role("row").filter(has_text="Bia Melo").get_by_role("button").click()
    worker.sees("The member has left. Their open leads are without an owner now.")
    hers.goto("/leads")
    expect(hers.locator("h1")).to_have_text(worker.say("Not a member of this organization any more."))
    page.goto("/audit?action=member.revoked")
    expect(page.locator("main")).to_contain_text(worker.say("Member revoked"))


@BOTH
def test_the_overview_plots_what_arrived(worker: Worker, locale: str) -> None:
    scene, page = worker.scene, worker.page
    scene.owner.execute(
        "INSERT INTO intake_minutes VALUES (%s, 1, date_trunc('minute', now()), 'accepted', 4, 7)",
        (scene.organization,),
    )
    page.goto("/")
    expect(page.locator("canvas")).to_have_count(2)
    table = page.get_by_role("table", name=worker.say("Answers in this span of time"))
    expect(table.get_by_role("row").filter(has_text=worker.say("Accepted")).first).to_contain_text("7")


@BOTH
def test_the_profile_changes_the_language(worker: Worker, locale: str) -> None:
    page, other = worker.page, "en" if locale == "pt_BR" else "pt_BR"
    page.goto("/profile")
    expect(page.locator("[data-push-state]")).not_to_have_text(worker.say("Looking…"))
    page.locator("#locale").select_option(other)
    page.locator("form[action='/profile'] button").click()
    expect(page.locator("html")).to_have_attribute("lang", other.replace("_", "-"))
    expect(page.locator("h1")).to_have_text(str(Language(other).say("Profile")))
