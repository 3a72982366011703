"""`EVENTS=10000 KILLS=100 SEED=… python -m tests.crash`: exit 0 only for nothing lost and nothing doubled."""

import hashlib
import os
import secrets
import sys

from tests.crash.desk import installation
from tests.crash.plan import make_plan
from tests.crash.run import carry_out, report


def main() -> int:
    events, kills = int(os.environ.get("EVENTS") or 10_000), int(os.environ.get("KILLS") or 100)
    seed = int(os.environ.get("SEED") or secrets.randbelow(1_000_000))
    plan = hashlib.sha256(repr(make_plan(events, kills, seed)).encode()).hexdigest()[:12]
    _say(f"{events} events, {kills} kills, seed {seed}: plan {plan}")
    with installation(keep=bool(os.environ.get("KEEP"))) as place:
        result = carry_out(place, events, kills, seed, _say)
        place.keep |= not result.good
    _say("\n".join(report(result)))
    return 0 if result.good else 1


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
