"""The embedded server's files: made once by `initdb`, opened by a password kept in `<data-dir>`."""

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from portaria.db.lodging import Lodging, NoLodging

OWNER = "portaria"
ENV = {"PATH": os.defpath, "LC_ALL": "C"}  # nothing of ours: PGPORT and the like would change a server

# The first that the system has. macOS lacks C.UTF-8: byte order, but letters known beyond ASCII.
_LOCALES = (["--locale=C.UTF-8"], ["--locale=C", "--lc-ctype=en_US.UTF-8"], ["--locale=C"])


def password(data_dir: Path) -> str:
    """The owner's password. Raises NoLodging when its file is gone."""
    path = _password_file(data_dir)
    if not path.exists():
        raise NoLodging(f"{path} is missing, and without it the database cannot be opened")
    return path.read_text(encoding="ascii").strip()


def make(data_dir: Path, lodging: Lodging) -> None:
    """Makes an empty cluster and its password, unless there is one. Raises NoLodging when `initdb` fails.

    It is made aside and moved into place when complete: a kill half-way leaves nothing that looks like one.
    """
    if (lodging.cluster / "PG_VERSION").exists():
        return
    chosen, for_initdb = secrets.token_urlsafe(24), lodging.home / "password"
    _write_private(_password_file(data_dir), chosen, None)
    _write_private(for_initdb, chosen, lodging)
    try:
        fresh = _initdb(lodging, for_initdb)
    finally:
        for_initdb.unlink()
    fresh.rename(lodging.cluster)


def _password_file(data_dir: Path) -> Path:
    return data_dir / "postgres.password"


def _initdb(lodging: Lodging, password_file: Path) -> Path:
    fresh = lodging.home / "cluster.new"
    argv = [str(lodging.programs / "initdb"), "-D", str(fresh), "-U", OWNER, "--encoding=UTF8"]
    errors = []
    for locale in _LOCALES:
        shutil.rmtree(fresh, ignore_errors=True)
        done = subprocess.run(
            [*argv, *locale, "--auth=scram-sha-256", f"--pwfile={password_file}"],
            env=ENV,
            cwd="/",
            user=lodging.uid,
            group=lodging.gid,
            extra_groups=None if lodging.uid is None else [],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return fresh
        errors.append(done.stderr.strip())
    raise NoLodging(f"initdb failed: {errors[0]}")


def _write_private(path: Path, text: str, lodging: Lodging | None) -> None:
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        if lodging and lodging.uid is not None and lodging.gid is not None:
            os.fchown(fd, lodging.uid, lodging.gid)
        file.write(f"{text}\n")
        file.flush()
        os.fsync(fd)
