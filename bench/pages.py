"""Looking as a signed-in person: the API's lists by a token, the console's pages by a browser session."""

from collections.abc import Callable, Iterator

import httpx

from bench.site import Site

_LISTS = {
    "arrivals": "/api/v1/webhook-events",
    "conversations": "/api/v1/conversations",
    "leads": "/api/v1/leads",
    "leads without an owner": "/api/v1/leads?owner=none",
    "notices": "/api/v1/notices",
}


def looker(client: httpx.Client, site: Site) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each list's name and a look at it; a list that this installation does not serve is left out."""
    token = _token(client, site)
    if token is None:
        return
    client.headers["Authorization"] = f"Bearer {token}"
    for name, path in _LISTS.items():
        if client.get(path).status_code == 200:
            yield name, lambda path=path: client.get(path).raise_for_status()  # type: ignore[misc]


def _token(client: httpx.Client, site: Site) -> str | None:
    answer = client.post(
        "/api/v1/auth/token",
        json={"email": site.demo.admin_email, "password": site.demo.admin_password},
    )
    return str(answer.json()["access_token"]) if answer.status_code == 200 else None
