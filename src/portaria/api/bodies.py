"""Raw bodies in JSON, byte for byte: as text where they are text, else in base64."""

from base64 import b64encode
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ShownBody:
    """`content` is the body itself (`utf-8`) or its bytes in `base64`; `bytes` is its size."""

    encoding: Literal["utf-8", "base64"]
    content: str
    bytes: int


def show_body(raw: bytes) -> ShownBody:
    """The body so that its bytes can be had back exactly."""
    try:
        return ShownBody("utf-8", raw.decode(), len(raw))
    except UnicodeDecodeError:
        return ShownBody("base64", b64encode(raw).decode(), len(raw))
