"""Finding the Chromium that the browser tests drive; `scripts/ensure-chromium` looks in the same places."""

import os
import shutil
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

# As root a sandbox is impossible; without the others a closed network makes each start slow.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> Path | None:
    """The browser's program, or None. The variable CHROMIUM names one."""
    for name in (os.environ.get("CHROMIUM", ""), *_NAMES, *_MAC):
        if name and (found := shutil.which(name)):
            return Path(found)
    return None
