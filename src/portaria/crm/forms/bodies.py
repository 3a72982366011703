"""A request's body to fields: JSON, or an HTML form's, urlencoded or multipart."""

import json
from email.message import Message
from typing import Final, Literal
from urllib.parse import parse_qsl

from python_multipart import FormParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File

from portaria.errors import Refusal

Kind = Literal["json", "urlencoded", "multipart"]

_MAX_FIELDS: Final = 200


def kind_of(content_type: bytes) -> Kind:
    """What the label says the body is. Raises a 415 `Refusal`."""
    label = _label(content_type).get_content_type()
    if label == "application/json" or (label.startswith("application/") and label.endswith("+json")):
        return "json"
    if label == "application/x-www-form-urlencoded":
        return "urlencoded"
    if label == "multipart/form-data":
        return "multipart"
    raise Refusal(415, "media_type", "Send JSON, or an HTML form: urlencoded or multipart.")


def read_fields(kind: Kind, content_type: bytes, raw: bytes) -> dict[str, object]:
    """The fields; of a repeated one the first. Raises a 422 `Refusal` for a body that cannot be read."""
    try:
        match kind:
            case "json":
                return _json(raw)
            case "urlencoded":
                return _first(parse_qsl(
                    raw.decode("utf-8", "replace"), keep_blank_values=True, errors="replace",
                    max_num_fields=_MAX_FIELDS,
                ))  # fmt: skip
            case "multipart":
                return _first(_multipart(_label(content_type), raw))
    except (ValueError, RecursionError, FormParserError):
        raise Refusal(422, "invalid_payload", "The body cannot be read as what it says it is.") from None


def _label(content_type: bytes) -> Message:
    message = Message()
    message["content-type"] = content_type.decode("latin-1").replace("\r", " ").replace("\n", " ")
    return message


def _json(raw: bytes) -> dict[str, object]:
    value = json.loads(raw.decode("utf-8-sig"))
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _multipart(label: Message, raw: bytes) -> list[tuple[str, str]]:
    """The text fields; files stay in the archive."""
    found: list[tuple[str, str]] = []

    def on_field(field: Field) -> None:
        if len(found) >= _MAX_FIELDS:
            raise ValueError("too many fields")
        found.append((_text(field.field_name), _text(field.value)))

    def on_file(_file: File) -> None: ...

    boundary = label.get_param("boundary", "")
    if not isinstance(boundary, str) or not boundary:
        raise ValueError("no boundary")
    parser = FormParser(
        "multipart/form-data", on_field, on_file, boundary=boundary.encode("latin-1"),
        config={"MAX_MEMORY_FILE_SIZE": len(raw) + 1},  # nothing of it goes to a disk
    )  # fmt: skip
    for start in range(0, len(raw), 64 * 1024):
        parser.write(raw[start : start + 64 * 1024])
    parser.finalize()
    return found


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


def _first(pairs: list[tuple[str, str]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in pairs:
        fields.setdefault(name, value)
    return fields
