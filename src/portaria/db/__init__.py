"""PostgreSQL: the one truth. Pools, transactions, named queries, migrations, the embedded server."""
