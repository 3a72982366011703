"""Leads: sales demands with an owner or without one, and who may see them (provider facts 7).

A lead's facts (`lead.created`, `lead.assigned`, `lead.unassigned`, `lead.stage_changed`) are written by a
trigger, whoever changes the row: no verb here emits. A verb only leaves word who did it.
"""

from portaria.crm.leads.change import (
    LeadDraft,
    LeadPatch,
    assign_lead,
    create_lead,
    update_lead,
)
from portaria.crm.leads.listing import Lead, LeadFilter, find_lead, list_leads, list_unowned

__all__ = [
    "Lead",
    "LeadDraft",
    "LeadFilter",
    "LeadPatch",
    "assign_lead",
    "create_lead",
    "find_lead",
    "list_leads",
    "list_unowned",
    "update_lead",
]
