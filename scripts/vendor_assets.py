"""Fetches the third-party assets of console and browser tests from released npm packages.

    scripts/vendor_assets.py          fetches anew, and writes the manifests (needs npm)
    scripts/vendor_assets.py --check  compares the committed files with their manifests (needs nothing)

Only the files named here are kept, unchanged, beside their licences; of the icons, one sprite of those
named. The manifest records package, version, the registry's integrity hash of the
package, and the sha256 of every file.
"""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONSOLE = ROOT / "src/portaria/console/static/vendor"
TESTS = ROOT / "tests/browser/vendor"
SPRITE = "tabler-icons.svg"
_SHAPE = re.compile(r"<svg.*?>(.*)</svg>", re.DOTALL)


@dataclass(frozen=True)
class Package:
    """An npm package, and which of its files are kept. Without a `license` the licence is in `MIT`."""

    name: str
    version: str
    files: tuple[str, ...]
    license: str | None = "LICENSE"


PACKAGES = (
    Package("@tabler/core", "1.6.1", ("dist/css/tabler.min.css",), license=None),
    Package("@tabler/icons", "3.52.0", ()),
    Package("htmx.org", "2.0.11", ("dist/htmx.min.js",)),
    Package("sortablejs", "1.15.7", ("Sortable.min.js",)),
    Package("uplot", "1.6.32", ("dist/uPlot.iife.min.js", "dist/uPlot.min.css")),
)
FOR_TESTS = (Package("axe-core", "4.14.1", ("axe.min.js",)),)
FOLDERS = {CONSOLE: PACKAGES, TESTS: FOR_TESTS}
ICONS = """
address-book adjustments alarm alert-triangle archive arrow-down arrow-left arrow-right arrow-up
arrows-shuffle ban bell bell-ringing bolt chart-bar check checks chevron-down chevron-left chevron-right
circle-check clock copy device-mobile dots-vertical download edit external-link eye file filter forms
grip-vertical hand-stop history home inbox info-circle key layout-columns link list lock logout mail
map-pin menu-2 message messages microphone paperclip photo player-pause player-play plug-connected plus
receipt refresh repeat robot search send settings shield-check sticker tag trash user user-check user-cog
user-off user-plus users video world x
""".split()
# @tabler/core names its licence in the head of its files, and carries no text of it.
MIT = """MIT License

Copyright 2018-2026 The Tabler Authors
Copyright 2018-2026 codecalm.net Paweł Kuna

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR
THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def main() -> int:
    if "--check" in sys.argv[1:]:
        problems = [problem for folder, packages in FOLDERS.items() for problem in check(folder, packages)]
        print("\n".join(problems) or "the vendored assets are what their manifests say")
        return 1 if problems else 0
    for folder, packages in FOLDERS.items():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        manifest = [fetch(folder, package) for package in packages]
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return 0


def fetch(folder: Path, package: Package) -> dict[str, object]:
    """Keeps the package's files in the folder; its entry in the manifest."""
    with tempfile.TemporaryDirectory() as scratch:
        command = ["npm", "pack", f"{package.name}@{package.version}", "--json", "--silent"]
        packed = subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True)
        [entry] = json.loads(packed.stdout)
        with tarfile.open(Path(scratch) / entry["filename"]) as archive:
            found = {Path(file).name: _read(archive, file) for file in package.files}
            if package.name == "@tabler/icons":
                found[SPRITE] = sprite(archive).encode()
            text = _read(archive, package.license) if package.license else MIT.encode()
    found[f"{package.name.strip('@').replace('/', '-')}.LICENSE"] = text
    for name, content in found.items():
        (folder / name).write_bytes(content)
    return {
        "package": package.name, "version": package.version, "integrity": entry["integrity"],
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in found.items()},
    }  # fmt: skip


def sprite(icons: tarfile.TarFile) -> str:
    """The icons in use as symbols of one file."""
    symbols = []
    for name in sorted(ICONS):
        shape = _SHAPE.search(_read(icons, f"icons/outline/{name}.svg").decode())
        if shape is None:
            raise SystemExit(f"{name}.svg is no icon of the expected shape")
        body = "".join(
            line.strip() for line in shape[1].splitlines() if 'stroke="none" d="M0 0h24v24H0z"' not in line
        )
        symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{body}</symbol>')
    return '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"


def check(folder: Path, packages: Sequence[Package]) -> list[str]:
    """What differs from the folder's manifest."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    wanted = {file: digest for entry in manifest for file, digest in entry["files"].items()}
    found = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
        if file.name != "manifest.json"
    }
    problems = [
        f"{folder.relative_to(ROOT)}/{name} is not what the manifest says"
        for name in sorted(wanted.keys() | found.keys())
        if wanted.get(name) != found.get(name)
    ]
    pinned = {(package.name, package.version) for package in packages}
    if pinned != {(entry["package"], entry["version"]) for entry in manifest}:
        problems.append(f"{folder.relative_to(ROOT)} holds other versions than this script names: run it")
    return problems


def _read(archive: tarfile.TarFile, file: str) -> bytes:
    member = archive.extractfile(f"package/{file}")
    if member is None:
        raise SystemExit(f"the package has no file {file}")
    return member.read()


if __name__ == "__main__":
    sys.exit(main())
