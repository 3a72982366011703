"""Every setting, read from the environment by `wiring` alone. Names: `PORTARIA_…`, and `DATABASE_URL`.

A secret has no usable default: what needs one refuses to start without it.
"""

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """The installation's settings. Times in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="PORTARIA_", extra="ignore", populate_by_name=True)

    database_url: SecretStr = Field(
        SecretStr(""), validation_alias=AliasChoices("DATABASE_URL", "database_url")
    )
    app_password: SecretStr = SecretStr("")
    """Password that `migrate` gives the login `portaria_app`."""

    secret_key: SecretStr = SecretStr("")
    """Encrypts channel secrets and signs sessions; at least 32 characters."""
    previous_secret_keys: SecretStr = SecretStr("")
    """Comma-separated older keys that may still decrypt."""
    installation_secret: SecretStr = SecretStr("")
    """Signs what arrives at the installation's own URL (spec 2.1); at least 16 characters."""
    installation_previous_secret: SecretStr = SecretStr("")

    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str = ""
    """The address people and providers use, e.g. https://crm.example; by default that of the request."""

    body_limit: int = 3 * 1024 * 1024
    header_limit: int = 32 * 1024
    answer_within: float = 4.0
    """The longest expected wait for archive and accept before a 503 (spec 2.2)."""
    body_within: float = 30.0
    """The longest a client may take to send its body."""
    commit_depth: int = Field(2, ge=1, le=16)
    """Batches of the group commit in flight: 1 suits a fast disk, 2 a slow one (design 5)."""
    batch_rows: int = Field(256, ge=1, le=5000)
    queue_rows: int = Field(4096, ge=1)
    queue_bytes: int = Field(64 * 1024 * 1024, ge=1024)

    first_attempts: int = Field(4, ge=1, le=64)
    """Connections of one web process for first attempts: two at most for batches, the rest for rows alone."""
    first_attempts_waiting: int = Field(50_000, ge=0)
    """Accepted rows that may wait in the process for their first attempt; the rest is the replay's. As many
    as `backlog_rows`: what one process accepted does not wait five minutes for the replay."""
    backlog_rows: int = Field(50_000, ge=1)
    """Accepted rows waiting for their first attempt, in the whole installation, before new ones get 503."""
    backlog_age: float = 3600.0

    token_lifetime: float = Field(12 * 3600.0, gt=0)
    """How long an API token is good."""
    session_lifetime: float = Field(14 * 86400.0, gt=0)
    """From the last use of a browser session to its end."""
    sign_in_window: float = Field(900.0, gt=0)
    """Failed sign-ins are counted within this time, per e-mail and address, e-mail, and address."""
    sign_in_per_email_and_address: int = Field(10, ge=1)
    sign_in_per_email: int = Field(50, ge=1)
    sign_in_per_address: int = Field(100, ge=1)
    read_within: float = Field(5.0, gt=0)
    """The longest a query of console or API may read."""

    accounts_webhook_token: SecretStr = Field(
        SecretStr(""), validation_alias=AliasChoices("ACCOUNTS_WEBHOOK_TOKEN", "accounts_webhook_token")
    )
    """The Bearer token of `POST /api/v1/incoming_events` (spec 3); without one every delivery is 401."""
    accounts_webhook_previous_token: SecretStr = Field(
        SecretStr(""),
        validation_alias=AliasChoices("ACCOUNTS_WEBHOOK_PREVIOUS_TOKEN", "accounts_webhook_previous_token"),
    )
    """Also good, during a rotation."""
    accounts_signature_secret: SecretStr = SecretStr("")
    """`whsec_…`: when set, deliveries must be signed by it besides (Standard Webhooks)."""
    accounts_signature_previous_secret: SecretStr = SecretStr("")
    use_case_within: float = Field(60.0, gt=0)
    """The longest one attempt of a use case may take."""

    form_rate: int = Field(30, ge=0)
    """Submissions a minute of one address to one lead form; 0: no limit."""
    vapid_private_key: SecretStr = SecretStr("")
    """Signs Web Push; without one no browser is told. Made by `portaria keys`."""
    vapid_subject: str = "mailto:portaria@example.com"
    """How push services reach whoever runs this installation: a `mailto:` or `https:` address."""

    pool_size: int = Field(8, ge=1)
    session_cache_ttl: float = 5.0
    stop_grace: float = 8.0
    """Seconds that running work gets after SIGTERM."""
    replay_every: float = 60.0
    keep_arrivals: int = Field(90, ge=0, le=36_500)
    """Days that an archived delivery keeps body and headers after it finished; 0: for ever (spec 2.5)."""
    keep_events: int = Field(90, ge=0, le=36_500)
    """The same for the body of an accounts event."""
    worker_concurrency: int = Field(4, ge=1)
    replay_concurrency: int = Field(4, ge=1, le=32)
    log_format: str = "json"
    log_level: str = "info"

    @property
    def address(self) -> str:
        """`public_url`, or where this machine listens; without a slash at its end."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    @field_validator("database_url", mode="before")
    @classmethod
    def _no_blanks(cls, value: object) -> object:
        return value.strip() if isinstance(value, str) else value
