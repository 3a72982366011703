"""The REST API: parses, calls one verb, answers; every refusal is a problem document with `code`.

Who asks is read anew for every request (`access`); what they read goes through `Database.tenant`, so the
database decides what belongs to whom. A route without a declared role is refused to everybody.
"""

from portaria.api.app import create_api
from portaria.api.deps import ApiDeps

__all__ = ["ApiDeps", "create_api"]
