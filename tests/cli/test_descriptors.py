"""How many connections a web process may have open: as many as the system lets it ask for."""

import subprocess
import sys

import pytest

ASKED = """
import resource
from portaria.wiring.web import _descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(_descriptors(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(("soft", "hard"), [(128, 128), (128, 512)])
def test_the_soft_limit_is_raised_to_the_hard_one(soft: int, hard: int) -> None:
    asked = ASKED.format(soft=soft, hard=hard)
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(hard), str(hard)]
