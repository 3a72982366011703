"""pgbench from the server's own folder: what the same server does for the same statements, without us."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bench.site import HERE, Site

SCRIPTS = HERE / "pgbench"


@dataclass(frozen=True)
class Pgbench:
    """Transactions (script runs) per second, and their mean time in milliseconds."""

    rate: float
    latency: float


def pgbench(
    site: Site,
    script: str,
    *,
    clients: int,
    seconds: float,
    variables: Mapping[str, object] = MappingProxyType({}),
) -> Pgbench:
    """Runs `bench/pgbench/<script>.sql` as the application's login, with prepared statements.

    Its time includes connecting, which may fill a short one on a busy machine: then it gets longer.
    """
    for patience in (1, 4, 16):
        said = _run(site, script, clients, max(1, round(seconds * patience)), variables)
        done = re.search(r"transactions actually processed: (\d+)", said)
        if done and int(done[1]):
            break
    rate = re.search(r"tps = ([\d.]+)", said)
    latency = re.search(r"latency average = ([\d.]+) ms", said)
    if not rate or not latency:
        raise RuntimeError(f"pgbench {script}: {said.strip()[-800:]}")
    return Pgbench(float(rate[1]), float(latency[1]))


def _run(site: Site, script: str, clients: int, seconds: int, variables: Mapping[str, object]) -> str:
    given = {
        "org": str(site.demo.organization_id),
        "session": str(site.demo.channel_id),
        "account": site.demo.account_id,
        **variables,
    }
    program = str(site.server.bin_dir / "pgbench")
    done = subprocess.run(
        [
            program, "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(2, clients)),
            "-T", str(seconds), "-f", str(SCRIPTS / f"{script}.sql"),
            *(f"-D{name}={value}" for name, value in given.items()), site.app_url,
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"pgbench {script}: {done.stderr.strip()[-800:]}")
    return done.stdout
