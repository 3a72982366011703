"""pgbench from the server's own folder: what the same server does for the same statements, without us."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from bench.site import HERE, Site

SCRIPTS = HERE / "pgbench"


@dataclass(frozen=True)
class Pgbench:
    """Transactions (script runs) per second, and their mean time in milliseconds."""

    rate: float
    latency: float


def pgbench(
    site: Site, script: str, *, clients: int, seconds: float, variables: Mapping[str, object] = {},
) -> Pgbench:  # fmt: skip
    """Runs `bench/pgbench/<script>.sql` as the application's login, with prepared statements."""
    given = {
        "org": str(site.demo.organization_id), "session": str(site.demo.channel_id),
        "account": site.demo.account_id, **variables,
    }  # fmt: skip
    done = subprocess.run(
        [
            str(site.server.bin_dir / "pgbench"), "-n", "-M", "prepared", "-c", str(clients),
            "-j", str(min(2, clients)), "-T", str(max(1, round(seconds))),
            "-f", str(SCRIPTS / f"{script}.sql"),
            *(f"-D{name}={value}" for name, value in given.items()), site.app_url,
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    rate = re.search(r"tps = ([\d.]+)", done.stdout)
    latency = re.search(r"latency average = ([\d.]+) ms", done.stdout)
    if done.returncode != 0 or not rate or not latency:
        raise RuntimeError(f"pgbench {script}: {(done.stderr or done.stdout).strip()[-800:]}")
    return Pgbench(float(rate[1]), float(latency[1]))
