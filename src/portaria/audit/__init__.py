"""The audit: who did what to what, appended in the transaction that did it, never changed."""

from portaria.audit.log import AuditEntry, AuditFilter, list_entries, record

__all__ = ["AuditEntry", "AuditFilter", "list_entries", "record"]
