"""An event that nobody handles is kept; installing the example and reprocessing ends in `processed`."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.accounts.workbench import TITLE, Events
from tests.conftest import TestDatabase
from tests.support.accounts_process import ROOT, worker
from tests.support.processes import until

EXAMPLE = ROOT / "examples/portaria-use-case-installment-overdue"


def install(site: Path, beside: Path) -> None:
    """As an installation would, from a copy: building leaves traces."""
    source = shutil.copytree(EXAMPLE, beside / "example")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--root-user-action=ignore", "--target", str(site)]
    subprocess.run([*pip, *options, str(source)], check=True)


def test_three_attempts_then_failed_then_the_example_is_installed_and_it_is_processed(
    events: Events, database: TestDatabase, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    row, _ = events.event()
    with worker(database.app_url, site=site):
        until(lambda: events.row(row)[0] == "failed", within=20)
        message = "no use case registered for event: INSTALLMENT_OVERDUE"
        assert events.row(row) == ("failed", 3, message, True)
        install(site, tmp_path)
        reprocess = "SELECT fn_reprocess_incoming_event(%s, false, 'cli')"
        assert events.owner.execute(reprocess, [row]).fetchall() == [("queued",)]
        until(lambda: events.row(row)[0] == "processed", within=20)
    assert events.row(row)[2] == ""
    titles = events.owner.execute("SELECT title FROM notices ORDER BY first_at").fetchall()
    assert titles == [(TITLE,), ("Parcela em atraso: assinatura sub_1",)]
