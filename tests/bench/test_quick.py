"""The benchmark keeps working: every part's harness on a few messages, with no thresholds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.targets import Target, tables

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_the_benchmark_measures_and_reports(tmp_path: Path) -> None:
    """Answering, the others that need no environment of their own, pgbench, and the report's two files."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", "answer", "--scale", "smoke", "--results", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((tmp_path / "smoke.json").read_text())
    answer = found["parts"]["answer"]
    assert all(figures["rate"] > 0 for figures in [*answer["ours"].values(), answer["strangers"]])
    assert {"bare", "naive", "pgbench_insert", "pgbench_insert_update"} <= answer["beside"].keys()
    assert all(figures.get("rate", 0) > 0 for figures in answer["beside"].values())
    assert found["seconds"]["answer"] > 0
    page = (tmp_path / "smoke.md").read_text()
    assert "| connections | per second |" in page
    assert "each from somebody new |" in page
    assert "## How long each part took" in page


def test_a_missed_target_has_its_reason() -> None:
    """Missed ones alone, each with what is known about it."""
    held, missed = Target("held", 1, 1, True, why="-"), Target("missed", 0, 1, True, why="a reason")
    judged, reasons = tables([held, missed])
    assert [row[0] for row in judged.rows] == ["held", "missed"]
    assert reasons.rows == [("missed", "a reason")]
    assert len(tables([held])) == 1
