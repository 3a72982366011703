"""The provider's sample bodies in `tests/payloads/`, and a way to bend them."""

import copy
import json
from pathlib import Path
from typing import Any

PAYLOADS = Path(__file__).parents[1] / "payloads"
NAMES = sorted(path.name.removeprefix("zernio.").removesuffix(".json") for path in PAYLOADS.glob("zernio.*"))
MISSING = object()

Body = dict[str, Any]


def payload(name: str, **changes: object) -> Body:
    """A sample body; `message__text=None` puts null at `message.text`, MISSING takes the field out."""
    body: Body = json.loads((PAYLOADS / f"zernio.{name}.json").read_bytes())
    for path, value in changes.items():
        put(body, tuple(path.split("__")), value)
    return body


def put(body: Body, path: tuple[str, ...], value: object) -> None:
    *parents, last = path
    for parent in parents:
        body = body.setdefault(parent, {})
    if value is MISSING:
        del body[last]
    else:
        body[last] = copy.deepcopy(value)


def vectors() -> list[Body]:
    found: list[Body] = json.loads((PAYLOADS / "_signature-vectors.json").read_bytes())
    return found
