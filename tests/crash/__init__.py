"""What `make crash` does: kill any process, or the database, at any moment, and look for what was lost.

Real processes: two `portaria web`, two `portaria worker`, one PostgreSQL, and between them a TCP proxy
each. Real deliveries at all three doors, signed, repeated, out of order, and sent again until they are
answered 2xx. Then every id is looked up (spec 6: a 2xx is a promise).

    plan      which kills and disturbances, at which point of the load: a pure function of the seed
    world     what is sent, and what must come of it: a pure function of the seed too
    senders   the provider, the accounts service, the people at the forms
    desk      the processes under test, their database, their proxies
    steps     triggers that park a statement at a named step, so that a kill hits exactly there
    chaos     carries out the plan
    checks    what must be true afterwards, each a query of `queries.sql` under its sentence
    run       all of it in order; `__main__` reads EVENTS, KILLS and SEED

What is the same for the same seed is the plan and the world. Which connection a process happens to hold
when it dies is not: that is what the many kills are for.
"""
