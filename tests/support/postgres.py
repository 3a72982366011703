"""A PostgreSQL of the tests' own, gone with everything it wrote when it is stopped."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from portaria.db.embedded import EmbeddedServer


class ThrowawayServer(EmbeddedServer):
    """An embedded server that deletes its data when stopped."""

    def stop(self, grace: float = 2.0) -> None:
        super().stop(grace)
        self.erase()


def start_test_server(
    folder: Path | None = None, *, settings: Mapping[str, str] = MappingProxyType({})
) -> EmbeddedServer:
    """A running server; `stop()` ends it and deletes its data.

    As root it does not live in `folder` (pytest's own are closed to the account that it runs as), but
    in a new one beside: else its data would move to /var/lib/portaria.
    """
    if folder is None or os.geteuid() == 0:
        folder = Path(tempfile.mkdtemp(prefix="portaria-test-"))
        folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    server = ThrowawayServer(folder, settings=settings)
    server.start()
    return server
