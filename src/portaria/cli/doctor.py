"""`portaria doctor`: looks at everything an installation needs, and says what to do about what is wrong."""

from portaria import wiring
from portaria.intake.readiness import Check, check_promise
from portaria.settings import Settings


async def examine(config: Settings) -> list[Check]:
    """Every check, the bad ones with a sentence that helps."""
    found = [_configured(config)]
    if not config.database_url.get_secret_value():
        return [*found, Check("database", False, "DATABASE_URL is not set")]
    async with wiring.command_database(config) as db:
        return [*found, *await check_promise(db)]


def _configured(config: Settings) -> Check:
    try:
        wiring.secret_box(config)
    except wiring.NotConfigured as error:
        return Check("secret_key", False, str(error))
    return Check("secret_key", True, "set")
