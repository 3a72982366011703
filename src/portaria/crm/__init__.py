"""The CRM: contacts, conversations, messages, leads and their forms (spec 1)."""
