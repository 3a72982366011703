"""What the operator sees: metric names and log set-up, decided here alone (style 7).

Every log line of a message carries `row`, the id of its archived row: one id from request to effect.
"""

import io
import logging
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

import msgspec
import structlog
from prometheus_client import Counter, Gauge, Histogram

ANSWERS = Counter("portaria_intake_answers_total", "Answers of the intake by outcome.", ["route", "outcome"])
ANSWER_SECONDS = Histogram(
    "portaria_intake_answer_seconds",
    "From the whole request read to its answer, in seconds.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8),
)
BATCH_ROWS = Histogram(
    "portaria_commit_batch_rows",
    "Rows per group commit.",
    ["queue"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
)
TRIES = Counter(
    "portaria_ingest_tries_total", "Tries to ingest an accepted row by outcome.", ["source", "outcome"]
)
FIRST_ATTEMPTS_WAITING = Gauge(
    "portaria_first_attempts_waiting", "Accepted rows waiting in this process for their first attempt."
)
LEFT_TO_REPLAY = Counter("portaria_left_to_replay_total", "Accepted rows this process left to the replay.")
INCOMING_EVENT_ANSWERS = Counter(
    "portaria_incoming_event_answers_total",
    "Answers to deliveries of the accounts service by status.",
    ["status"],
)
INCOMING_EVENT_ATTEMPTS = Counter(
    "portaria_incoming_event_attempts_total", "Runs of accounts events' jobs by what they did.", ["outcome"]
)


class _Unfailing(io.TextIOBase):
    """stderr, except that a full disk or a closed pipe behind it stops no work."""

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


def configure_logging(level: str, log_format: str) -> None:
    """Structured logs on stderr: `json` (a document a line) or `console`."""
    renderer: Any = (
        structlog.dev.ConsoleRenderer()
        if log_format == "console"
        else structlog.processors.JSONRenderer(
            serializer=lambda v, **_: msgspec.json.encode(v, enc_hook=str).decode()
        )
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.PrintLoggerFactory(file=cast(TextIO, _Unfailing())),
        # A kept logger would go on by the configuration it was first used under.
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
