"""A PostgreSQL of the tests' own, gone with everything it wrote when it is stopped."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from portaria.db.embedded import EmbeddedServer

_MEMORY = Path("/dev/shm")
_ROOM = 1024**3
"""Bytes: a server of the suite takes a third of it, its log of changes included."""


class ThrowawayServer(EmbeddedServer):
    """An embedded server that deletes its data when stopped."""

    def stop(self, grace: float = 2.0) -> None:
        super().stop(grace)
        self.erase()


def start_test_server(
    folder: Path | None = None,
    *,
    settings: Mapping[str, str] = MappingProxyType({}),
    in_memory: bool = False,
) -> EmbeddedServer:
    """A running server; `stop()` ends it and deletes its data.

    `in_memory`: in the system's memory disk, if there is one with room: a new database costs a tenth there.
    As root it does not live in `folder` (pytest's own are closed to the account that it runs as), but
    in a new one beside: else its data would move to /var/lib/portaria.
    """
    memory = _memory() if in_memory else None
    if memory is not None or folder is None or os.geteuid() == 0:
        folder = Path(tempfile.mkdtemp(prefix="portaria-test-", dir=memory))
        folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    server = ThrowawayServer(folder, settings=settings)
    server.start()
    return server


def _memory() -> Path | None:
    """The memory disk, rid of what killed runs left there; None without room on it."""
    if not _MEMORY.is_dir():
        return None
    for left in _MEMORY.glob("portaria-test-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > 300:
                _erase_unless_held(left)
    return _MEMORY if shutil.disk_usage(_MEMORY).free > _ROOM else None


def _erase_unless_held(folder: Path) -> None:
    """Raises OSError while the server's processes hold its lock."""
    with (folder / "postgres.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
