"""Channel intake (spec 2): written down before it is answered, ingested exactly once.

What is authoritative is the archived row, `webhook_events_log`. `received` and marked
(`valid_signature`) is a promise: the message will take effect, or a person is told. Everything a
process holds besides (queues, caches, first attempts that wait) may be lost at any moment; the replay
finds the row. What may run twice is ingestion: `messages` is unique on the external id, the effects on
the message, and every finishing update names the try it belongs to. So a crash anywhere leaves either
no answer (the provider delivers again), or a marked row that some later try completes.

The way of a message: `http` → `archive` → `verdict` → `archive` (accept) → 200 → `first_attempt`
→ `ingest`; what that leaves behind, `replay` takes up, and `give_up` ends.
"""
