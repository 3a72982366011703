"""The *Central de avisos*: what people must be told (spec 5).

A notice is one per organization and title while it is open or acknowledged; a repetition raises its
count, and reopens an acknowledged one. The database holds that rule, so any number of processes may
tell the same thing at once. Titles and bodies are stored in Portuguese; the console translates them.

    open ──acknowledge──▶ ack ──resolve──▶ resolved          a repetition: ack ─▶ open
      └───────────────────resolve────────────▶               after resolved: a new notice
"""

from portaria.notices.center import (
    Notice,
    NoticeFilter,
    acknowledge_notice,
    count_live,
    find_notice,
    list_notices,
    open_notice,
    resolve_notice,
    resolve_titled,
)

__all__ = [
    "Notice",
    "NoticeFilter",
    "acknowledge_notice",
    "count_live",
    "find_notice",
    "list_notices",
    "open_notice",
    "resolve_notice",
    "resolve_titled",
]
