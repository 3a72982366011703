"""Use cases come from installed packages; the shipped registry is empty (spec 3)."""

import asyncio
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from portaria.accounts.use_cases import Failure, Success, UseCases

HANDLER = """
from portaria.accounts.use_cases import Success

async def handle(data, transaction):
    return Success()
"""


def install(folder: Path, package: str, source: str, event_type: str = "TEST_EVENT") -> None:
    """What an installer leaves behind."""
    (folder / f"{package}.py").write_text(source)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[portaria.use_cases]\n{event_type} = {package}:handle\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that packages can be installed into."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def outcome(use_cases: UseCases) -> Success | Failure | None:
    use_case = use_cases.resolve("TEST_EVENT")
    return None if use_case is None else asyncio.run(use_case({}, None))  # type: ignore[arg-type]


def test_the_shipped_registry_is_empty() -> None:
    shipped = [point for point in entry_points(group="portaria.use_cases") if point.dist is not None
               and point.dist.name == "portaria"]  # fmt: skip
    assert shipped == []
    assert UseCases().resolve("INSTALLMENT_OVERDUE") is None


def test_a_package_offers_a_use_case_by_its_entry_point(site: Path) -> None:
    install(site, "portaria_test_offer", HANDLER)
    assert outcome(UseCases()) == Success()


def test_a_package_installed_while_the_worker_runs_is_found(site: Path) -> None:
    use_cases = UseCases(look_again_after=0)
    assert outcome(use_cases) is None
    install(site, "portaria_test_late", HANDLER)
    assert outcome(use_cases) == Success()


def test_unknown_types_do_not_search_the_disk_every_time(site: Path) -> None:
    use_cases = UseCases(look_again_after=3600)
    assert outcome(use_cases) is None
    install(site, "portaria_test_unseen", HANDLER)
    assert outcome(use_cases) is None


def test_a_package_that_cannot_be_loaded_fails_its_events_with_the_reason(site: Path) -> None:
    install(site, "portaria_test_broken", "import portaria_test_absent")
    install(site, "portaria_test_fine", HANDLER, "OTHER_EVENT")
    use_cases = UseCases()
    failure = outcome(use_cases)
    assert isinstance(failure, Failure)
    assert "portaria_test_broken:handle could not be loaded: ModuleNotFoundError" in failure.message
    assert use_cases.resolve("OTHER_EVENT") is not None


def test_two_packages_for_one_type_fail_its_events_rather_than_pick_one(site: Path) -> None:
    install(site, "portaria_test_one", HANDLER)
    install(site, "portaria_test_two", HANDLER)
    failure = outcome(UseCases())
    assert isinstance(failure, Failure)
    assert "portaria_test_one:handle, portaria_test_two:handle" in failure.message
