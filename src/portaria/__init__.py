"""Portaria: the front desk of a CRM. Written down first, exactly once, in fair turn."""
