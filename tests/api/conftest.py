"""The API on a real database, called in process."""

from collections.abc import AsyncIterator
from functools import partial

import httpx
import psycopg
import pytest
from litestar import Litestar

from portaria.api import ApiDeps, create_api
from portaria.crm.departure import release_leads
from portaria.db.pool import Database
from portaria.identity.passwords import Passwords
from portaria.identity.secret_box import SecretBox
from portaria.identity.throttle import Throttle, ThrottleLimits
from portaria.identity.tokens import Tokens
from portaria.intake.by_hand import Replayed, replay_by_hand
from portaria.intake.readiness import check_promise
from tests.api.world import World
from tests.support.factory import Factory

BOX = SecretBox("chave-de-teste-" * 3)
PASSWORDS = Passwords()


@pytest.fixture
def deps(db: Database) -> ApiDeps:
    async def replay(row, actor, organization_id) -> Replayed:
        return await replay_by_hand(db, row, actor=actor, organization_id=organization_id)

    return ApiDeps(
        db=db, box=BOX, tokens=Tokens(BOX, 600), passwords=PASSWORDS,
        throttle=Throttle(ThrottleLimits(per_email_and_address=2)), readiness=partial(check_promise, db),
        replay=replay, on_revoke=release_leads, address="https://crm.exemplo.test", read_within=5,
    )  # fmt: skip


@pytest.fixture
def app(deps: ApiDeps) -> Litestar:
    return create_api(deps)


@pytest.fixture
async def client(app: Litestar) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://portaria.test") as made:
        yield made


@pytest.fixture
def world(owner: psycopg.Connection, make: Factory, deps: ApiDeps, client: httpx.AsyncClient) -> World:
    return World(owner, make, deps.tokens, client)
