"""Lead forms: a page or a program leaves a person's name and phone, and a lead is made (spec 7).

**What is authoritative.** The archive row, written before anything in the body is looked at, and closed
in the transaction that makes contact and lead. So an answer of 201 or 303 is a promise, and a submission
that failed to become a lead can still be read. The cron never replays it: it was answered after it was
processed, and a person who got an error sends again.

**What may come twice.** A double click: the same `idempotency_key` meets the lead it made.

**A form is no channel session.** `channel_sessions` are connected numbers and accounts: they have an
account, a secret, a state, and their token opens the intake route, where a form's must open nothing. A
form has only its token and its name, so it lives in `lead_forms`; its arrivals carry the organization
from the start, the provider `lead_form`, and no session. `lead_form_submissions` says which arrival
became which lead.
"""

from portaria.crm.forms.registry import (
    LeadForm,
    LeadFormDraft,
    LeadFormPatch,
    archive_form,
    create_form,
    list_forms,
    update_form,
)

__all__ = [
    "LeadForm",
    "LeadFormDraft",
    "LeadFormPatch",
    "archive_form",
    "create_form",
    "list_forms",
    "update_form",
]
