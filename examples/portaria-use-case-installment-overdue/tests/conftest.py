"""The project's own PostgreSQL for tests, and this package on the path as if it were installed."""

import sys
from pathlib import Path

from tests.conftest import database, db, owner, server  # noqa: F401 - fixtures

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
