"""The API's own document against the API: every operation with what fits its schema and with what does not.
No fault of ours, and every answer is one that the document names, in the form that it names.
"""

import random
from contextlib import nullcontext, suppress
from typing import Any

import schemathesis
from hypothesis import given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from portaria.identity.principal import Role
from portaria.identity.secret_box import SecretBox
from portaria.identity.sign_in import SignedIn
from portaria.identity.tokens import Tokens
from tests.api.world import House, World
from tests.fuzz.target import Target, share
from tests.support.http import SECRET_KEY

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# Ends every token of the one who asks: tests/api.
LEFT_OUT = {"/api/v1/auth/sign-out-everywhere"}
SURE = random.Random(1)


def test_every_operation_of_the_document(target: Target) -> None:
    tokens = Tokens(SecretBox(SECRET_KEY), 36_000)
    house = World(target.make.conn, target.make, tokens, None).house(7)  # type: ignore[arg-type]
    admin = house.people[Role.admin.name]
    target.make.conn.execute("UPDATE users SET is_operator = true WHERE id = %s", (admin,))
    headers = {"Authorization": f"Bearer {tokens.issue(SignedIn(admin, 0))}"}
    schema = schemathesis.openapi.from_url(f"{target.url}/schema/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    operations = [operation for operation in operations if operation.path not in LEFT_OUT]
    assert len(operations) > 40
    each = share(0.1) // (2 * len(operations)) + 1
    for operation in operations:
        for mode in GenerationMode:
            # An operation that takes nothing cannot be asked wrongly.
            with suppress(Unsatisfiable) if mode is GenerationMode.NEGATIVE else nullcontext():
                ask(target, operation, mode, each, headers, house)


def ask(target: Target, operation: Any, mode: Any, times: int, headers: dict[str, str], house: House) -> None:
    @settings(max_examples=times)
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        target.inputs += 1
        for name in case.path_parameters or {}:
            if name in house.ids and SURE.random() < 0.5:
                case.path_parameters[name] = str(house.ids[name])
        case.call_and_validate(headers=headers, checks=CHECKS)

    send()
