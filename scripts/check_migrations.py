"""Lints the `migrate:up` part of every migration with squawk; going down may drop things."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MIGRATIONS = ROOT / "src/portaria/db/migrations"
SQUAWK = Path(sys.executable).with_name("squawk")


def main() -> int:
    files = sorted(MIGRATIONS.glob("*.sql"))
    if not files:
        print(f"no migration in {MIGRATIONS}")
        return 1
    return max(lint(file) for file in files)


def lint(file: Path) -> int:
    """The exit code: 0 when nothing is held against the file."""
    text = file.read_text(encoding="utf-8")
    up, found, _ = text.partition("-- migrate:down")
    if not found or not up.lstrip().startswith("-- migrate:up"):
        print(f"{file.name}: begins with `-- migrate:up` and has a `-- migrate:down`, says dbmate's format")
        return 1
    name = str(file.relative_to(ROOT))
    argv = [str(SQUAWK), "--config", ".squawk.toml", "--stdin-filepath", name]
    done = subprocess.run(argv, input=up, text=True, capture_output=True, check=False, cwd=ROOT)
    if done.returncode:
        print(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
