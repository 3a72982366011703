"""The tree of `portaria dev`: what dies comes back, what is told to stop stops, nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree

import psycopg
import pytest

from tests.support.processes import running, until

# The supervisor without the rest of the command line, which takes a second to import.
ALONE = """
import json, sys, types, portaria
from pathlib import Path
alone = sys.modules["portaria.cli"] = types.ModuleType("portaria.cli")
alone.__path__ = [portaria.__path__[0] + "/cli"]
"""
WITH_POSTGRES = f"""{ALONE}
from portaria.cli.supervise import Child, Process, supervise
from portaria.db.embedded import EmbeddedServer
folder = Path(sys.argv[1])
server: Child = EmbeddedServer(folder)
server.start()
print(server.url("postgres"), flush=True)
trace = ["/bin/sh", "-c", 'echo $$ >> "$0"; exec sleep 1000', str(folder / "web")]
children = [server, Process("web", trace)]
code = supervise(children, ready=server.ready)
server.stop()
sys.exit(code)
"""
PARENT = f"""{ALONE}
from portaria.cli.supervise import Process, supervise
report, spec = Path(sys.argv[1]), json.loads(sys.argv[2])
children = [Process(**one) for one in spec]
def on_ready():
    fresh = report.with_suffix(".new")
    fresh.write_text(json.dumps({{c.name: c.pid for c in children}}))
    fresh.rename(report)
sys.exit(supervise(children, on_ready=on_ready, grace=1.0))
"""
# Writes its pid to a file of its own at each start.
TRACED = 'echo $$ >> "$0"; exec sleep 1000'
Start = Callable[..., tuple[subprocess.Popen[bytes], dict[str, int]]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    parents: list[subprocess.Popen[bytes]] = []

    def start(*children: dict[str, object]) -> tuple[subprocess.Popen[bytes], dict[str, int]]:
        report = tmp_path / "pids.json"
        argv = [sys.executable, "-c", PARENT, str(report), json.dumps(children)]
        parents.append(subprocess.Popen(argv, stderr=subprocess.PIPE, start_new_session=True))
        until(report.exists)
        return parents[-1], json.loads(report.read_text())

    yield start
    for parent in parents:
        parent.kill()
        parent.wait()
        parent.stderr.close()


def child(name: str, script: str, *args: object, foundation: bool = False) -> dict[str, object]:
    return {
        "name": name,
        "argv": ["/bin/sh", "-c", script, *map(str, args)],
        "foundation": foundation,
    }


def pids(trace: Path) -> list[int]:
    return [int(line) for line in trace.read_text().split()] if trace.exists() else []


def test_a_killed_child_is_back_within_two_seconds_every_time(start: Start, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    start(child("web", TRACED, trace))
    for starts in range(1, 5):
        until(lambda n=starts: len(pids(trace)) == n)
        os.kill(pids(trace)[-1], signal.SIGKILL)
        assert until(lambda n=starts: len(pids(trace)) == n + 1, within=5) < 2


def test_what_a_dead_child_started_goes_before_it_is_started_again(start: Start, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    _, first = start(child("web", 'sleep 1000 & echo $! >> "$0"; wait', trace))
    until(lambda: len(pids(trace)) == 1)
    os.kill(first["web"], signal.SIGKILL)
    until(lambda: len(pids(trace)) == 2)
    old, new = pids(trace)
    until(lambda: not running(old))
    assert running(new)
    os.kill(new, signal.SIGKILL)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_on_the_group_ends_all_in_order(start: Start, tmp_path: Path, sig: signal.Signals) -> None:
    order = tmp_path / "order"
    note = 'trap \'sleep 0.2; echo "$1" >> "$0"; exit\' TERM INT; while :; do sleep 0.05; done'
    parent, found = start(
        child("web", note, order, "web"),
        child("postgres", note, order, "postgres", foundation=True),
        child("worker", note, order, "worker"),
    )
    os.killpg(parent.pid, sig)
    assert parent.wait(5) == 0
    ended = order.read_text().split()
    assert ended[-1] == "postgres"
    assert sorted(ended) == ["postgres", "web", "worker"]  # once each: no signal arrived twice
    assert not any(running(pid) for pid in found.values())


def test_a_child_that_will_not_end_is_killed(start: Start) -> None:
    parent, found = start(child("web", 'trap "" TERM; while :; do sleep 0.05; done'))
    parent.terminate()
    assert parent.wait(5) == 0
    assert b"web did not end" in parent.stderr.read()
    assert not running(found["web"])


def test_a_second_signal_does_not_wait(start: Start) -> None:
    parent, found = start(child("web", 'trap "echo >&2 asked" TERM; while :; do sleep 0.05; done'))
    parent.terminate()
    assert b"asked" in parent.stderr.readline()
    parent.terminate()
    assert until(lambda: parent.poll() is not None) < 0.5  # of the second there is to wait
    assert not running(found["web"])


def test_kill_9_of_the_parent_ends_the_children(start: Start, tmp_path: Path) -> None:
    parent, found = start(
        child("web", 'trap "" TERM INT HUP; while :; do sleep 0.05; done'), child("worker", "exec sleep 1000")
    )
    parent.kill()
    until(lambda: not any(running(pid) for pid in found.values()), within=3)


def test_a_child_that_cannot_live_is_tried_at_a_slower_and_slower_pace(start: Start, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    parent, _ = start(child("web", 'echo $$ >> "$0"; exit 3', trace))
    assert until(lambda: len(pids(trace)) == 4) > 0.5
    assert b"web ended (exit code 3)" in parent.stderr.readline()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the server's account can enter, when we are root."""
    folder = Path(tempfile.mkdtemp(prefix="portaria-tree-"))
    folder.chmod(0o755)
    yield folder
    rmtree(folder)


def test_make_postgres_and_a_child_end_together_on_ctrl_c(open_folder: Path) -> None:
    """As `make run` does it: one group gets the signal, make included. In between, the server comes back."""
    script, data = open_folder / "dev.py", open_folder / "data"
    script.write_text(WITH_POSTGRES)
    (open_folder / "Makefile").write_text(f"run:\n\t@{sys.executable} {script} {data}\n")
    argv = ["make", "-C", str(open_folder), "run"]
    make = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        url = next(line for line in make.stdout if line.startswith("postgresql:")).strip()
        until(lambda: pids(data / "web"))
        before = postmaster(url)
        os.kill(before, signal.SIGKILL)
        assert until(lambda: postmaster(url) not in (None, before)) < 2
        everything = [before, postmaster(url), *pids(data / "web")]
        os.killpg(make.pid, signal.SIGINT)
        make.wait(8)
        assert not any(running(pid) for pid in everything)
    finally:
        make.kill()
        make.wait()
        make.stdout.close()


def postmaster(url: str) -> int | None:
    """The pid of the server that answers; None when none does."""
    try:
        with psycopg.connect(url) as conn:
            row = conn.execute("SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)").fetchone()
            return int(row[0])
    except psycopg.OperationalError:
        return None


def test_a_program_that_is_missing_ends_what_was_started(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    spec = [child("postgres", TRACED, trace, foundation=True), {"name": "web", "argv": ["/no/such/program"]}]
    done = subprocess.run(
        [sys.executable, "-c", PARENT, str(tmp_path / "pids.json"), json.dumps(spec)],
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 1
    assert b"/no/such/program" in done.stderr
    assert not any(running(pid) for pid in pids(trace))
