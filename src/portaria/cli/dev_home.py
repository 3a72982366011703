"""What `portaria dev` keeps in its data directory: made-up keys, and `dev.json` while it runs (spec 7)."""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from portaria.push.vapid import generate_private_key


def _made_up() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class DevKeys:
    """Secrets of one development installation, made up once and kept."""

    secret_key: str = field(default_factory=_made_up)
    app_password: str = field(default_factory=_made_up)
    installation_secret: str = field(default_factory=_made_up)
    accounts_token: str = field(default_factory=_made_up)
    channel_secret: str = field(default_factory=_made_up)
    admin_password: str = field(default_factory=_made_up)
    vapid_private_key: str = field(default_factory=generate_private_key)


class DevHome:
    """The data directory of `portaria dev`, for its user alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def keys(self) -> DevKeys:
        """The kept keys; what a later version added is made up now."""
        file = self.folder / "keys.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        keys = DevKeys(**{k: v for k, v in known.items() if k in DevKeys.__dataclass_fields__})
        _write(file, asdict(keys))
        return keys

    def announce(self, what: Mapping[str, object]) -> None:
        """Writes `dev.json`: everything another program needs to use this installation."""
        _write(self.folder / "dev.json", what)

    def withdraw(self) -> None:
        """Removes `dev.json`: it is there only while the installation is ready."""
        (self.folder / "dev.json").unlink(missing_ok=True)


def _write(file: Path, what: Mapping[str, object]) -> None:
    """Whole or not at all, readable by its owner alone."""
    beside = file.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(what, out, ensure_ascii=False, indent=1)
    beside.replace(file)
