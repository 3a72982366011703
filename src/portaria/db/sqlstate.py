"""What a database error means for a try (spec 2.3): the infrastructure's fault, or the work's own."""

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

RETRY_AT_ONCE = frozenset({"40001", "40P01"})
_INFRASTRUCTURE = frozenset({"25006", "25P03", "55P03"}) | RETRY_AT_ONCE
_INFRASTRUCTURE_CLASSES = ("08", "53", "57P0", "58")


def sqlstate(error: BaseException) -> str | None:
    """The five-character SQLSTATE of a database error, if it has one."""
    return getattr(error, "sqlstate", None)


def is_infrastructure(error: BaseException) -> bool:
    """Lost connection, pool timeout, or SQLSTATE 08, 53, 57P0, 58, 25006, 25P03, 40001, 40P01, 55P03.

    Such a failure uses up no attempt of a message (spec 2.3).
    """
    if isinstance(error, PoolTimeout | PoolClosed | TooManyRequests | ConnectionError):
        return True
    if not isinstance(error, psycopg.Error):
        return False
    state = sqlstate(error)
    if state is None:
        # The client library's own errors carry no state: "the connection is closed", "server closed…".
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state in _INFRASTRUCTURE or state.startswith(_INFRASTRUCTURE_CLASSES)


def may_pass(error: BaseException) -> bool:
    """The infrastructure's failure, or a statement that was cut short by its time limit: what failed may
    succeed later, so whoever counts no tries comes back to it."""
    return is_infrastructure(error) or sqlstate(error) == "57014"


def is_retryable_at_once(error: BaseException) -> bool:
    """Serialization failure or deadlock: the same work may succeed at once."""
    return sqlstate(error) in RETRY_AT_ONCE
