"""A web process and a worker as an installation runs them, for faults that need processes of their own."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.crash.desk import HERE, SECRETS
from tests.crash.processes import ROOT, Managed, free_port


@contextmanager
def real_processes(
    app_url: str, folder: Path, *, source: Path = ROOT / "src", path: str = "", **more: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Managed]]]:
    """The web process's address, and both by their roles. `source`: whose code; `more`: a role's variables.

    They are ended by SIGTERM, and must end.
    """
    port = free_port()
    common = {
        **SECRETS, "DATABASE_URL": app_url, "PORTARIA_PORT": str(port), "PORTARIA_FORM_RATE": "0",
        "PORTARIA_REPLAY_EVERY": "0.5", "PYTHONPATH": f"{path}:{HERE / 'use_cases'}:{source}:{ROOT}",
    }  # fmt: skip
    processes = {
        role: Managed(role, {**common, **more.get(role, {})}, folder / f"{role}.log")
        for role in ("web", "worker")
    }
    for process in processes.values():
        process.start()
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}", processes)
        yield f"http://127.0.0.1:{port}", processes
        for process in processes.values():
            assert process.end(15) is not None
    finally:
        for process in processes.values():
            process.kill(0)


def _wait_until_ready(url: str, processes: Mapping[str, Managed]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if httpx.get(f"{url}/readyz", timeout=1.0).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        assert time.monotonic() < deadline, {p.name: p.log.read_text()[-1000:] for p in processes.values()}
        time.sleep(0.05)
