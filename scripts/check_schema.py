"""`schema.sql` is the schema that the migrations and functions make; `--write` brings it up to date.

A fresh embedded database is migrated and dumped by dbmate. Lines that name the server's version or a
random key are left out, so that the file says the same on every machine.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate

SCHEMA = Path(__file__).parent.parent / "src/portaria/db/schema.sql"
_PASSING = re.compile(
    r"^(-- Dumped (from|by) .*|\\(un)?restrict .*|SET transaction_timeout .*)\n", re.MULTILINE
)


def main() -> int:
    now = dump()
    if "--write" in sys.argv[1:]:
        SCHEMA.write_text(now, encoding="utf-8")
        return 0
    kept = SCHEMA.read_text(encoding="utf-8") if SCHEMA.exists() else ""
    if kept == now:
        print("schema.sql is what the migrations make")
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(
            kept.splitlines(keepends=True), now.splitlines(keepends=True), "schema.sql", "migrated"
        )
    )
    print("schema.sql differs from what the migrations make: python scripts/check_schema.py --write")
    return 1


def dump() -> str:
    """The schema of a database migrated from nothing."""
    with tempfile.TemporaryDirectory(prefix="portaria-schema-") as folder:
        Path(folder).chmod(0o711)  # as root, the server's account has to get in
        server = EmbeddedServer(Path(folder) / "data", settings={"fsync": "off"})
        try:
            server.start()
            server.create_database("portaria")
            migrate(server.url("portaria"), app_password="")
            return _PASSING.sub("", _dbmate_dump(server, Path(folder) / "schema.sql"))
        finally:
            server.stop()


def _dbmate_dump(server: EmbeddedServer, to: Path) -> str:
    path = os.pathsep.join(
        [str(server.bin_dir), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    )
    argv = [
        "dbmate",
        "--env-file",
        os.devnull,
        "--url",
        server.url("portaria"),
        "--schema-file",
        str(to),
        "dump",
    ]
    done = subprocess.run(argv, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"dbmate dump: {done.stderr}{done.stdout}")
    return to.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
