"""What people look at, as a signed-in admin: the API's lists by a token, the console's pages by a session.

By itself: each of them again and again, on one web process, in an organization with 100,000 messages,
10,000 leads and 1,000,000 archived rows: `python -m bench.pages`.
"""

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Final

import httpx

from bench.history import fill, rotation_of
from bench.report import Table, show
from bench.site import Site, embedded_server, make_site
from portaria.db.embedded import EmbeddedServer

_LISTS: Final = {
    "API arrivals": "/api/v1/webhook-events",
    "API conversations": "/api/v1/conversations",
    "API leads": "/api/v1/leads",
    "API leads without an owner": "/api/v1/leads?owner=none",
    "API notices": "/api/v1/notices",
}
# Each of these has as many answers in a small database as in a large one: else the page's making is compared.
_PAGES: Final = {
    "overview": "/",
    "notices": "/notices",
    "conversations": "/conversations",
    "conversations searched by name": "/conversations?q=Quit%C3%A9ria",
    "conversations searched by phone": "/conversations?q=61803399",
    "conversations searched by what many have": "/conversations?q=Cliente",
    "conversation": "/conversations/{conversation}",
    "leads": "/leads",
    "leads board": "/leads?view=board",
    "leads without an owner": "/leads?owner=none",
    "leads searched by name": "/leads?q=Quit%C3%A9ria",
    "leads searched by phone": "/leads?q=61803399",
    "leads searched by what many have": "/leads?q=Cliente",
    "lead": "/leads/{lead}",
    "automations": "/automations",
    "assign form": "/automations/{rule}",
    "arrivals": "/arrivals",
    "arrivals of one kind": "/arrivals?status=dead",
    "arrivals searched": "/arrivals?text=amanh%C3%A3",
    "arrivals by id": "/arrivals?external_id=old-77",
    "arrival": "/arrivals/{arrival}",
    "accounts events": "/accounts-events",
    "channels": "/channels",
    "channel": "/channels/{channel}",
    "forms": "/forms",
    "members": "/members",
    "audit": "/audit",
    "profile": "/profile",
}
_IDS: Final = {
    # The last of the history: nobody writes in it while something is measured, and it has ten messages.
    "conversation": "SELECT id FROM conversations WHERE organization_id = %s"
    " ORDER BY provider_conversation_id DESC LIMIT 1",
    "lead": "SELECT id FROM crm_leads WHERE organization_id = %s AND conversation_id IS NOT NULL"
    " ORDER BY created_at DESC LIMIT 1",
    "rule": "SELECT id FROM automation_rules WHERE organization_id = %s LIMIT 1",
    "arrival": "SELECT id FROM webhook_events_log WHERE organization_id = %s ORDER BY id LIMIT 1",
    "channel": "SELECT id FROM channel_sessions WHERE organization_id = %s LIMIT 1",
}


def timed_looks(sites: Sequence[tuple[Site, int]], looks: int) -> Iterator[tuple[str, list[list[float]]]]:
    """Each page with the time of each look at it (seconds, sorted): a list for each site and its port, looked
    at in turn, so that what else the machine does takes as much of each. After a look that is not counted.
    """
    with ExitStack() as stack:
        clients = [
            stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30))
            for _, port in sites
        ]
        asking = list(zip(clients, (site for site, _ in sites), strict=True))
        heads = [{"Authorization": f"Bearer {_token(client, site)}"} for client, site in asking]
        for name, path in _LISTS.items():
            yield name, _looks([(c, path, head) for c, head in zip(clients, heads, strict=True)], looks)
        for client, site in asking:
            _sign_in(client, site)
        ids = [
            {kind: site.value(query, site.demo.organization_id) for kind, query in _IDS.items()}
            for site, _ in sites
        ]
        for name, path in _PAGES.items():
            paths = [(c, path.format(**theirs), {}) for c, theirs in zip(clients, ids, strict=True)]
            yield name, _looks(paths, looks)


def _looks(asked: Sequence[tuple[httpx.Client, str, dict[str, str]]], looks: int) -> list[list[float]]:
    took: list[list[float]] = [[] for _ in asked]
    for _ in range(looks + 1):
        for times, (client, path, headers) in zip(took, asked, strict=True):
            began = time.perf_counter()
            answer = client.get(path, headers=headers)
            times.append(time.perf_counter() - began)
            if answer.status_code != 200:
                raise RuntimeError(f"{path} was answered {answer.status_code}")
    return [sorted(times[1:]) for times in took]


def _token(client: httpx.Client, site: Site) -> str:
    given = {"email": site.demo.admin_email, "password": site.demo.admin_password}
    answer = client.post("/api/v1/auth/token", json=given)
    return str(answer.raise_for_status().json()["access_token"])


def _sign_in(client: httpx.Client, site: Site) -> None:
    form = client.get("/sign-in").raise_for_status().text
    token = re.search(r'name="csrf" value="([^"]+)"', form)
    assert token is not None
    given = {"email": site.demo.admin_email, "password": site.demo.admin_password, "csrf": token[1]}
    answer = client.post("/sign-in", data=given)
    if answer.status_code != 303:
        raise RuntimeError(f"the sign-in was answered {answer.status_code}")


def measure(server: EmbeddedServer, archived: int, looks: int) -> Table:
    """Milliseconds of each page with so many archived rows."""
    site = make_site(server, "pages")
    fill(site, rotation_of(site), 0, archived, per_message=10)
    table = Table(
        f"Pages: {archived:,} archived rows, {archived // 10:,} messages, {archived // 100:,} leads",
        ["", "p50, ms", "p95, ms", "worst, ms"],
    )
    with site.web() as (port, _web):
        for name, [took] in timed_looks([(site, port)], looks):
            at = (took[len(took) // 2], took[int(len(took) * 0.95)], took[-1])
            table.add(name, *(round(seconds * 1000, 1) for seconds in at))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archived", type=int, default=1_000_000)
    parser.add_argument("--looks", type=int, default=40)
    given = parser.parse_args()
    with embedded_server() as server:
        show([measure(server, given.archived, given.looks)])


if __name__ == "__main__":
    main()
