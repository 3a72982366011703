"""What may happen to the database, the network and the clock: each fault a test (spec 6).

A web process and a worker in the test's own event loop, unless a fault needs real ones. The load, its
senders and the checks of every id are those of the crash harness: whatever the fault, nothing answered 2xx
is lost or doubled, and everything recovers by itself.
"""
