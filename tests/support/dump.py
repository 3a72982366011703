"""Looking for words in everything a database holds: a dump, searched in every form a word may take there."""

import base64
import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus


def dump(bin_dir: Path, url: str) -> bytes:
    """All rows of the database as `pg_dump` writes them."""
    argv = [str(bin_dir / "pg_dump"), "--dbname", url, "--data-only", "--no-sync"]
    return subprocess.run(argv, capture_output=True, check=True).stdout


def found_in(dumped: bytes, words: Iterable[str]) -> set[str]:
    """The words that the dump holds, as they are or in disguise, whatever the case."""
    haystack = dumped.lower()
    return {word for word in words if any(form.lower() in haystack for form in forms(word))}


def forms(word: str) -> Iterator[bytes]:
    """A word as text, escaped by JSON or a URL, as the hex of `bytea`, and inside base64 and its hex."""
    raw = word.encode()
    plain = {raw, json.dumps(word)[1:-1].encode(), quote(word).encode(), quote_plus(word).encode()}
    for form in plain:
        yield form
        yield form.hex().encode()
    for encoded in _base64(raw):
        yield encoded
        yield encoded.hex().encode()


def _base64(raw: bytes) -> Iterator[bytes]:
    """What stays the same of a word's base64 wherever it begins."""
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
        yield encoded[-(-shift * 8 // 6) + (1 if shift else 0) : -1 if (shift + len(raw)) % 3 else None]
