"""The pages, a module for each section: parse, call the capability's verb, show what came of it."""

from typing import Final

from portaria.console.pages import (
    accounts_events,
    arrivals,
    audit,
    automations,
    channels,
    conversations,
    lead,
    lead_forms,
    leads,
    live,
    members,
    notices,
    overview,
    profile,
    sign_in,
)

ROUTES: Final = [
    *sign_in.ROUTES, *overview.ROUTES, *notices.ROUTES, *conversations.ROUTES, *leads.ROUTES,
    *lead.ROUTES, *automations.ROUTES, *arrivals.ROUTES, *accounts_events.ROUTES, *channels.ROUTES,
    *lead_forms.ROUTES, *members.ROUTES, *audit.ROUTES, *profile.ROUTES, *live.ROUTES,
]  # fmt: skip
