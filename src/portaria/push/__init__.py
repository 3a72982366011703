"""Telling people at once: live signals to open pages (SSE), and Web Push to their browsers.

**What is authoritative.** Neither. A signal says that something changed and names it; whoever hears it
reads it from the database, with their own rights. Whoever hears nothing misses nothing but the moment.

**Live.** Every web process has one connection that hears of notices and looks for the leads' new facts
while a page is open, and passes them on to the pages that may know of them (`hub`). After a lost
connection, or when a page is too slow, it gets `resync`: read again.

**Web Push.** A job per `lead.assigned`, after the commit, in a queue of its own: the rotation's lock and
the owner's update never wait for a push service, and neither does any other queue (`courier`). It may
reach a browser twice after a crash: both carry the same topic and tag, so that one is shown. A browser
that is gone (404, 410) is forgotten.
"""

from portaria.push.courier import Courier, Delivered
from portaria.push.endpoints import EndpointRefused, Reach
from portaria.push.hub import Hub, Viewer
from portaria.push.subscriptions import BrowserKeys, SubscriptionDraft, prune, subscribe, unsubscribe
from portaria.push.vapid import Vapid, generate_private_key

__all__ = [
    "BrowserKeys",
    "Courier",
    "Delivered",
    "EndpointRefused",
    "Hub",
    "Reach",
    "SubscriptionDraft",
    "Vapid",
    "Viewer",
    "generate_private_key",
    "prune",
    "subscribe",
    "unsubscribe",
]
