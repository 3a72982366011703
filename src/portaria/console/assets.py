"""The console's own and vendored assets, from memory, under an address that names their content.

Every file is read and compressed once. The address holds a digest of all of them, so browsers may keep
a file for ever, and a new version of Portaria is a new address.
"""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from portaria.console.visitor import AnyRequest

_COMPRESSED: Final = (".css", ".js", ".svg", ".webmanifest")
_TYPES: Final = {".js": "text/javascript", ".webmanifest": "application/manifest+json"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file's content, as it is and compressed where that helps."""

    content: bytes
    compressed: bytes | None
    media_type: str


def asset_url(name: str) -> str:
    """Where a page finds the asset. Raises KeyError for one that does not exist."""
    assets, digest = _assets()
    assets[name]
    return f"/static/{digest}/{name}"


def asset_text(name: str) -> str:
    """The content of a text asset."""
    return _assets()[0][name].content.decode()


@get("/static/{digest:str}/{name:path}", include_in_schema=False, opt={"skip_session": True, "open": True})
async def serve_asset(request: AnyRequest, digest: FromPath[str], name: FromPath[str]) -> Response[bytes]:
    """The asset. An address of another version is answered too, but is not to be kept."""
    assets, current = _assets()
    asset = assets.get(name.lstrip("/"))
    if asset is None:
        raise NotFoundException
    kept = "public, max-age=31536000, immutable" if digest == current else "no-cache"
    headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
    content = asset.content
    if asset.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = asset.compressed, "gzip"
    return Response(content, media_type=asset.media_type, headers=headers)


@get("/service-worker.js", include_in_schema=False, opt={"skip_session": True, "open": True})
async def service_worker() -> Response[bytes]:
    """Browser notifications arrive here. It stands at the root: its scope is the whole console."""
    assets, _ = _assets()
    asset = assets["service-worker.js"]
    return Response(asset.content, media_type=asset.media_type, headers={"Cache-Control": "no-cache"})


@cache
def _assets() -> tuple[dict[str, Asset], str]:
    found = {name: _load(name, file) for name, file in _walk(files("portaria.console") / "static", "")}
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(name.encode() + b"\0" + found[name].content)
    return found, digest.hexdigest()[:16]


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        found += (
            _walk(entry, f"{prefix}{entry.name}/") if entry.is_dir() else [(f"{prefix}{entry.name}", entry)]
        )
    return found


def _load(name: str, file: Traversable) -> Asset:
    content = file.read_bytes()
    suffix = "." + name.rpartition(".")[2]
    media_type = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    if media_type.startswith("text/"):
        media_type += "; charset=utf-8"
    return Asset(content, gzip.compress(content, 9, mtime=0) if suffix in _COMPRESSED else None, media_type)
