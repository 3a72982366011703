"""The three kinds of error (design 6).

- `Refusal`: the request cannot be done; a status, a stable `code` and a sentence for the caller.
- `Operational`: something outside failed (database, network); counted, retried, warned about.
- anything else is a bug: logged with its trace, answered 500.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Refusal(Exception):
    """A refusal, shown to the caller as an RFC 9457 problem document with `code`."""

    status: int
    code: str
    detail: str
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.detail}"


class Operational(Exception):
    """Something outside this process failed; trying again later may succeed."""


def problem(status: int, code: str, detail: str, **more: object) -> dict[str, object]:
    """The problem document (RFC 9457) of a refusal."""
    return {
        "type": f"urn:portaria:{code}",
        "title": code,
        "status": status,
        "code": code,
        "detail": detail,
        **more,
    }
