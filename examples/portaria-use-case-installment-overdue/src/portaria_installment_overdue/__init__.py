"""An overdue installment becomes a notice, once per version of its subscription."""

from portaria_installment_overdue.use_case import installment_overdue

__all__ = ["installment_overdue"]
