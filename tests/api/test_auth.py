"""Signing in over HTTP, signing out everywhere, several organizations."""

import asyncio

import httpx
import psycopg
import pytest

from tests.api.conftest import PASSWORDS
from tests.api.world import World

PASSWORD = "senha-inventada-1"
HASH = asyncio.run(PASSWORDS.hash(PASSWORD))


@pytest.fixture
def person(world: World, owner: psycopg.Connection):
    house = world.house(1)
    owner.execute(
        "UPDATE users SET email = 'ana@exemplo.test', password_hash = %s WHERE id = %s",
        (HASH, house.people["manager"]),
    )
    return house.people["manager"]


async def sign_in(client: httpx.AsyncClient, password: str = PASSWORD) -> httpx.Response:
    return await client.post("/api/v1/auth/token", json={"email": "ana@exemplo.test", "password": password})


async def test_a_token_for_email_and_password_opens_the_api(client: httpx.AsyncClient, person) -> None:
    answer = await sign_in(client)
    assert answer.status_code == 200
    token = answer.json()
    assert (token["token_type"], token["expires_in"]) == ("Bearer", 600)
    assert answer.headers["cache-control"] == "no-store"
    me = await client.get("/api/v1/me", headers={"Authorization": f"bearer {token['access_token']}"})
    assert (me.json()["user_id"], me.json()["role"]) == (str(person), "manager")


async def test_too_many_wrong_passwords_are_429_with_retry_after(client: httpx.AsyncClient, person) -> None:
    codes = [(await sign_in(client, "errada")).json()["code"] for _ in range(3)]
    assert codes == ["invalid_credentials", "invalid_credentials", "too_many_attempts"]
    refused = await sign_in(client)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 901


async def test_signing_out_everywhere_ends_every_token(
    client: httpx.AsyncClient, person, world: World
) -> None:
    tokens = [(await sign_in(client)).json()["access_token"] for _ in range(2)]
    headers = [{"Authorization": f"Bearer {token}"} for token in tokens]
    answer = await client.post("/api/v1/auth/sign-out-everywhere", headers=headers[0])
    assert answer.status_code == 204
    for one in headers:
        refused = await client.get("/api/v1/me", headers=one)
        assert (refused.status_code, refused.json()["code"]) == (401, "signed_out")
    assert (await sign_in(client)).status_code == 200


async def test_a_new_password_ends_the_old_token_and_answers_with_a_good_one(
    client: httpx.AsyncClient, person
) -> None:
    old = {"Authorization": f"Bearer {(await sign_in(client)).json()['access_token']}"}
    change = {"current_password": PASSWORD, "new_password": "uma-senha-nova-2"}
    wrong = await client.post("/api/v1/auth/password", headers=old, json={**change, "current_password": "x"})
    assert (wrong.status_code, wrong.json()["code"]) == (403, "wrong_password")
    fresh = await client.post("/api/v1/auth/password", headers=old, json=change)
    assert (await client.get("/api/v1/me", headers=old)).status_code == 401
    good = {"Authorization": f"Bearer {fresh.json()['access_token']}"}
    assert (await client.get("/api/v1/me", headers=good)).status_code == 200


async def test_a_former_member_gets_no_token(
    client: httpx.AsyncClient, person, owner: psycopg.Connection
) -> None:
    owner.execute("UPDATE user_organizations SET revoked_at = now()")
    answer = await sign_in(client)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_a_member")


async def test_a_user_of_two_organizations_picks_one_by_header_or_query(
    client: httpx.AsyncClient, person, world: World, owner: psycopg.Connection
) -> None:
    second = world.make.organization("Segunda")
    owner.execute("INSERT INTO user_organizations VALUES (%s, %s, 'viewer')", (second, person))
    first = (await world.ask(person, "GET", "/api/v1/me")).json()
    by_header = (await world.ask(person, "GET", "/api/v1/me", organization=second)).json()
    by_query = (await world.ask(person, "GET", f"/api/v1/me?organization_id={second}")).json()
    assert (first["role"], by_header["role"], by_query["organization_name"]) == (
        "manager",
        "viewer",
        "Segunda",
    )
    assert [o["name"] for o in first["organizations"]] == ["Casa 1", "Segunda"]
