"""`make mutants`: puts faults into a copy of the code, one at a time, and shows which test catches each.

    python scripts/mutants.py [word …]     only the faults whose name holds one of the words
    python scripts/mutants.py --check      whether each patch still applies, and nothing else

A fault is a patch in `tests/mutants`, under its name and the tests that must catch it, a line for each set:
every line is tried by itself. What no test catches survives: then a promise is not tested, and the exit
code is 1. A patch that does not apply any more is mended together with the code that it speaks of.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
AT_ONCE = 2
Copies = SimpleQueue[Path]


class DidNotRun(Exception):
    """The tests said nothing about the fault: the patch does not apply, or nothing could be set up."""


@dataclass(frozen=True)
class Trial:
    """A fault, and tests that must catch it."""

    name: str
    patch: Path
    tests: tuple[str, ...]


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        return _check()
    trials = [t for t in _trials() if len(sys.argv) == 1 or any(word in t.name for word in sys.argv[1:])]
    started, copies = time.monotonic(), Copies()
    with tempfile.TemporaryDirectory(prefix="portaria-mutants-") as where:
        for number in range(AT_ONCE):
            copies.put(_copy(Path(where) / str(number)))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            caught = list(pool.map(lambda trial: _try(copies, trial), trials))
    print(f"{len(trials)} trials, {sum(caught)} caught, in {time.monotonic() - started:.0f} s")
    return 0 if all(caught) else 1


def _check() -> int:
    patches = sorted((ROOT / "tests/mutants").glob("*.patch"))
    stale = [patch.name for patch in patches if not _applies(patch)]
    print(
        "\n".join([f"does not apply any more: {name}" for name in stale] or [f"{len(patches)} faults apply"])
    )
    return 1 if stale else 0


def _applies(patch: Path) -> bool:
    with suppress(DidNotRun):
        _git_apply(ROOT, patch, "--check")
        return True
    return False


def _trials() -> Iterator[Trial]:
    for patch in sorted((ROOT / "tests/mutants").glob("*.patch")):
        name, *lines = patch.read_text(encoding="utf-8").splitlines()
        for line in lines:
            if line.startswith("Caught by: "):
                yield Trial(name, patch, tuple(line.split()[2:]))


def _copy(folder: Path) -> Path:
    """The code and its tests, as they stand; the unprivileged account of the database may pass through."""
    for part in ("src", "tests", "scripts", "docs"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "README.pt-BR.md", "CHANGELOG.md"):
        shutil.copy(ROOT / file, folder)
    folder.parent.chmod(0o755)
    return folder


def _try(copies: Copies, trial: Trial) -> bool:
    """Whether the tests pass without the fault and one of them fails with it. Says so."""
    copy = copies.get()
    try:
        with _put_in(copy, trial.patch):
            failed = _first_failure(copy, trial.tests)
        if failed and (other := _first_failure(copy, [failed])):
            raise DidNotRun(f"{other} fails without the fault too")
    except DidNotRun as error:
        print(f"BROKEN    {trial.name}: {error}", flush=True)
        return False
    finally:
        copies.put(copy)
    print(
        f"{'caught  ' if failed else 'SURVIVED'}  {trial.name:52} {failed or ' '.join(trial.tests)}",
        flush=True,
    )
    return failed is not None


def _first_failure(copy: Path, tests: Sequence[str]) -> str | None:
    """The first of the tests to fail, in this copy of the code. Raises DidNotRun."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "-p", "no:cacheprovider", *tests],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}", "TMPDIR": str(copy.parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    if failed := re.search(r"^FAILED (.+?)(?: - |$)", done.stdout, re.MULTILINE):
        return failed[1]
    raise DidNotRun(f"the tests could not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


@contextmanager
def _put_in(copy: Path, patch: Path) -> Iterator[None]:
    _git_apply(copy, patch)
    try:
        yield
    finally:
        _git_apply(copy, patch, "--reverse")


def _git_apply(copy: Path, patch: Path, *more: str) -> None:
    """Outside of any repository, which is where the copies are."""
    done = subprocess.run(
        ["git", "apply", *more, str(patch)],
        cwd=copy, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise DidNotRun(f"the patch does not apply: {done.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main())
