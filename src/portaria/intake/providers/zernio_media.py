"""Attachments, reduced to what may be kept beside a message: no credentials in them."""

import re
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from portaria.intake.providers.contract import Body, block, optional_text

_TYPE_LIMIT: Final = 50
_URL_LIMIT: Final = 2_048
# The only parameter the media route needs. Signed links hide their tokens under any name: none is kept.
_KEPT_PARAMETERS: Final = frozenset({"accountId"})
_TOKEN_IN_PATH: Final = re.compile(r"/bot[0-9]+:")


def attachment(file: Body) -> dict[str, str]:
    """`type`, and `media_id`, `mime_type` and `url` where they came. Never raises."""
    payload = block(file, "payload")
    found = {
        "type": (optional_text(file.get("type"), _TYPE_LIMIT) or "file").lower(),
        "media_id": optional_text(payload.get("id")),
        "mime_type": optional_text(payload.get("mimeType")),
        "url": url_without_tokens(file.get("url")),
    }
    return {name: value for name, value in found.items() if value is not None}


def url_without_tokens(value: object) -> str | None:
    """A web address without user, parameters of unknown meaning, or fragment; None if it is no such."""
    text = optional_text(value, _URL_LIMIT + 1)
    if text is None or len(text) > _URL_LIMIT or _TOKEN_IN_PATH.search(text):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    kept = [pair for pair in parse_qsl(parts.query) if pair[0] in _KEPT_PARAMETERS]
    host = parts.netloc.rpartition("@")[2]
    return SplitResult(parts.scheme, host, parts.path, urlencode(kept), "").geturl()
