"""Who sends Web Push: one key for the worker's courier and the console's test push."""

from portaria.push import Courier, Vapid
from portaria.push.greeting import Greeter
from portaria.settings import Settings
from portaria.wiring.basics import NotConfigured


def build_courier(config: Settings) -> Courier | None:
    """Tells new owners; None without a VAPID key. Raises NotConfigured for one that cannot be used."""
    vapid = _vapid(config)
    return None if vapid is None else Courier(vapid, lead_url="/leads/{id}")


def build_greeter(config: Settings) -> Greeter | None:
    """The console's test push; None without a VAPID key. Raises NotConfigured for one that cannot be used."""
    vapid = _vapid(config)
    return None if vapid is None else Greeter(vapid)


def _vapid(config: Settings) -> Vapid | None:
    key = config.vapid_private_key.get_secret_value()
    if not key:
        return None
    try:
        return Vapid(key, config.vapid_subject)
    except ValueError as error:
        raise NotConfigured(f"PORTARIA_VAPID_PRIVATE_KEY, PORTARIA_VAPID_SUBJECT: {error}.") from None
