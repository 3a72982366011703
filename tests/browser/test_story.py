"""The whole story, in Portuguese, through the eyes of the admin of a new shop."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Pages
from tests.browser.scene import Scene
from tests.support.factory import Channel

BREAK = """
CREATE FUNCTION broken_for_a_while() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'quebrada por um tempo'; END $$;
CREATE TRIGGER broken_for_a_while BEFORE INSERT ON messages
FOR EACH ROW WHEN (NEW.external_id = '{message}') EXECUTE FUNCTION broken_for_a_while()
"""


def test_from_the_first_channel_to_a_notice_resolved(pages: Pages) -> None:
    scene = Scene.open(pages.desk, pages.owner, "Loja Nova")
    page = pages.sign_in(pages.person(scene.organization, "Chefe", "admin"))
    for name in ("Ana Souza", "Bruno Lima", "Carla Dias"):
        scene.member(name)

    scene.channel = _create_channel(page, scene)
    _watch_a_message_arrive(page, scene)
    _make_a_rotation_of_three(page)
    _four_leads_in_fair_turn(page, scene)
    message = _break_ingestion_and_see_the_notice(page, scene)
    _replay_and_resolve(page, scene)
    assert scene.one("SELECT body FROM messages WHERE external_id = %s", message) == "Quero cancelar o pedido"


def _create_channel(page: Page, scene: Scene) -> Channel:
    page.get_by_role("link", name="Canais", exact=True).click()
    page.get_by_role("link", name="Novo canal").click()
    page.get_by_label("Nome").fill("WhatsApp da loja nova")
    account = scene.channel.token
    page.get_by_label("Id da conta no provedor").fill(account)
    page.get_by_role("button", name="Criar o canal").click()
    expect(page.get_by_role("heading", name="Copie o segredo agora")).to_be_visible()
    secret, url = page.locator("#new-secret").input_value(), page.locator("#webhook-url").input_value()
    page.goto(page.url)
    expect(page.locator("#new-secret")).to_have_count(0)
    token = url.rsplit("/", 1)[1]
    return Channel(scene.organization, scene.channel.id, token, account, secret, None, "zernio")


def _watch_a_message_arrive(page: Page, scene: Scene) -> None:
    page.get_by_role("link", name="Conversas").first.click()
    expect(page.get_by_text("Nenhuma conversa ainda")).to_be_visible()
    page.evaluate("window.notReloaded = true")
    scene.arrives("Vocês têm horário amanhã?", name="Maria Cardoso")
    expect(page.get_by_role("link", name=re.compile("Maria Cardoso"))).to_be_visible()
    expect(page.locator("#badge-conversations")).to_have_text("1")
    page.get_by_role("link", name=re.compile("Maria Cardoso")).click()
    expect(page.get_by_role("log")).to_contain_text("Vocês têm horário amanhã?")
    expect(page.locator("#badge-conversations")).to_have_text("")
    page.evaluate("window.notReloaded = true")
    scene.arrives("Pode ser às 15h")
    expect(page.get_by_role("log")).to_contain_text("Pode ser às 15h")
    assert page.evaluate("window.notReloaded")


def _make_a_rotation_of_three(page: Page) -> None:
    page.get_by_role("link", name="Automações").click()
    page.get_by_role("link", name="Nova automação").first.click()
    page.get_by_label("Nome").fill("Rodízio dos leads")
    expect(page.get_by_role("radio", name="Em rodízio")).to_be_checked()
    for name in ("Ana Souza", "Bruno Lima", "Carla Dias"):
        page.get_by_label("Adicionar um atendente").select_option(label=name)
        page.get_by_role("button", name="Adicionar", exact=True).click()
    for _ in range(2):
        page.get_by_role("button", name="Subir Carla Dias").click()
    page.get_by_role("listitem").filter(has_text="Bruno Lima").get_by_label("pausado").check()
    page.get_by_role("button", name="Salvar").click()
    expect(page.get_by_text("A automação foi criada.")).to_be_visible()
    upcoming = page.get_by_role("region", name="Quem é o próximo")
    expect(upcoming).to_contain_text("Carla Dias")
    expect(upcoming).to_contain_text("Bruno Lima — pulado: pausado")


def _four_leads_in_fair_turn(page: Page, scene: Scene) -> None:
    page.get_by_role("link", name="Leads", exact=True).click()
    for number, _ in enumerate(turns := [("Carla Dias", 1), ("Ana Souza", 2)] * 2):
        scene.arrives("Oi", phone=f"+551198765100{number}", name=f"Cliente {number}")
        row = page.get_by_role("row").filter(has_text=f"Cliente {number}")
        expect(row).to_contain_text(turns[number][0])
    for number, (name, position) in enumerate(turns):
        page.goto("/leads")
        page.get_by_role("link", name=f"Cliente {number}").click()
        activity = page.get_by_role("region", name="Atividade")
        expect(activity).to_contain_text(f"Vez de {name}, posição {position}")
        activity.get_by_text("Quem foi considerado").click()
        expect(activity).to_contain_text("Bruno Lima — pulado: pausado")


def _break_ingestion_and_see_the_notice(page: Page, scene: Scene) -> str:
    page.goto("/notices")
    expect(page.get_by_text("Nada a fazer")).to_be_visible()
    message = f"wamid.{scene.channel.token[:6]}broken"
    scene.owner.execute(BREAK.format(message=message))
    scene.arrives("Quero cancelar o pedido", external_id=message)
    scene.owner.execute(
        "UPDATE webhook_events_log SET received_at = received_at - interval '7 hours'"
        " WHERE organization_id = %s AND status = 'received'",
        (scene.organization,),
    )
    scene.desk.replay_now()
    expect(page.get_by_text("Uma mensagem do número oficial não entrou no CRM")).to_be_visible()
    expect(page.locator("#badge-notices")).to_have_text("1")
    return message


def _replay_and_resolve(page: Page, scene: Scene) -> None:
    page.get_by_role("link", name="Abrir a chegada").click()
    expect(page.get_by_text("Abandonada", exact=True)).to_be_visible()
    page.get_by_role("button", name="Reprocessar").click()
    expect(page.get_by_role("status").filter(has_text="Falhou de novo")).to_be_visible()
    scene.owner.execute("DROP FUNCTION broken_for_a_while CASCADE")
    page.get_by_role("button", name="Reprocessar").click()
    expect(page.get_by_role("status").filter(has_text="a mensagem está no CRM")).to_be_visible()
    expect(page.get_by_text("Processada", exact=True)).to_be_visible()
    page.get_by_role("link", name="Central de avisos").first.click()
    page.get_by_role("button", name="Resolver").click()
    expect(page.locator("#badge-notices")).to_have_text("")
    page.get_by_role("link", name="Resolvidos").click()
    expect(page.get_by_text("Uma mensagem do número oficial não entrou no CRM")).to_be_visible()
