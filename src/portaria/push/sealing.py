"""A push message as only one browser can read it (RFC 8291)."""

import json
from collections.abc import Mapping


def sealed(message: Mapping[str, str], *, endpoint: str, p256dh: str, auth: str) -> bytes:
    """The body for the push service. Raises ValueError for keys that are none."""
    # Two HTTP clients come along with it, 11 MiB, and most web processes never push.
    from pywebpush import WebPusher, WebPushException

    text = json.dumps(message, ensure_ascii=False).encode()
    try:
        pusher = WebPusher({"endpoint": endpoint, "keys": {"p256dh": p256dh, "auth": auth}})
        return bytes(pusher.encode(text)["body"])
    except WebPushException as error:
        raise ValueError(str(error)) from error
