"""The page on the API names every code that a route can answer with."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CAPABILITIES = (
    "api", "identity", "notices", "audit", "automations", "crm/leads", "crm/inbox", "accounts/reprocess.py",
    "intake/channels", "intake/by_hand.py",
)  # fmt: skip
CODE = re.compile(r'(?:Refusal|_refused|problem_response)\(\s*(?:\d{3},\s*)?"([a-z_]+)"')


def test_every_code_of_a_refusal_stands_in_the_table() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([a-z_]+)`", page))
    codes: set[str] = set()
    for place in CAPABILITIES:
        path = ROOT / "src/portaria" / place
        for file in [path] if path.is_file() else path.rglob("*.py"):
            codes |= set(CODE.findall(file.read_text(encoding="utf-8")))
    assert len(codes) > 40
    assert codes - documented - {"not_ready", "organization_missing"} == set()
