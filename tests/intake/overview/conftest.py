from tests.support.shared import pool, shared, shared_owner

__all__ = ["pool", "shared", "shared_owner"]
