"""Channel sessions as people manage them: created, their secret rotated, archived.

Intake reads the same table through `intake.sessions`; every change here reaches its cache by NOTIFY.
Neither list nor audit ever shows a secret: it is returned once, by the verb that made it.
"""

from portaria.intake.channels.manage import (
    Channel,
    Created,
    Rotated,
    archive_channel,
    channel_url,
    create_channel,
    find_channel,
    list_channels,
    rotate_secret,
)
from portaria.intake.channels.rekey import Rekeyed, reencrypt_secrets
from portaria.intake.channels.request import ChannelRequest

__all__ = [
    "Channel",
    "ChannelRequest",
    "Created",
    "Rekeyed",
    "Rotated",
    "archive_channel",
    "channel_url",
    "create_channel",
    "find_channel",
    "list_channels",
    "reencrypt_secrets",
    "rotate_secret",
]
