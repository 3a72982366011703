from tests.support.shared import desk, pool, shared, shared_owner

__all__ = ["desk", "pool", "shared", "shared_owner"]
