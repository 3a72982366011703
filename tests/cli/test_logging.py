"""What a process that configures its logs gets, also the second time."""

import structlog
from structlog.testing import capture_logs

from portaria.telemetry import configure_logging

LOG = structlog.get_logger()


def test_a_later_configuration_holds_for_loggers_that_were_used() -> None:
    for level in ("warning", "info"):
        configure_logging(level, "json")
        LOG.warning("used")
    with capture_logs() as logs:
        LOG.info("heard")
    assert [line["event"] for line in logs] == ["heard"]
