"""The use case: one notice per subscription, told anew only by a newer version of it.

What was told is remembered where it was told: the notice's `resource_id` is `<subscription>@<version>`.
A use case with more to remember would bring a table of its own.
"""

from typing import Any
from urllib.parse import quote

from portaria.accounts.use_cases import Failure, Success
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.notices import open_notice

_Q = load_queries("portaria_installment_overdue")
_TITLE = "Parcela em atraso"


async def installment_overdue(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    """Opens «Parcela em atraso: assinatura …»; a version already told, or an older one, changes nothing."""
    subscription, version = data.get("subscription_id"), data.get("version")
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        return Failure("version is not a whole number")
    if subscription in (None, ""):
        await _tell(transaction, _TITLE, data, None)
        return Success()
    key = quote(str(subscription), safe="")
    await transaction.execute(_Q["lock_subscription"], {"subscription": key})
    if version is not None and await _is_told(transaction, key, version):
        return Success()
    title = f"{_TITLE}: assinatura {str(subscription)[:100]}"
    await _tell(transaction, title, data, f"{key}@{version or 0}")
    return Success()


async def _is_told(transaction: Connection, key: str, version: int) -> bool:
    told = await (await transaction.execute(_Q["told_version"], {"subscription": key})).fetchone()
    return told is not None and told[0] is not None and told[0] >= version


async def _tell(transaction: Connection, title: str, data: dict[str, Any], resource: str | None) -> None:
    amount = f" de {data['amount']}" if "amount" in data else ""
    due_on = f", vencida em {data['due_on']}" if "due_on" in data else ""
    await open_notice(
        transaction,
        organization_id=None,
        kind="installment_overdue",
        severity="warning",
        title=title,
        body=f"O accounts informou uma parcela{amount} em atraso{due_on}. Fale com o cliente.",
        resource_kind="subscription",
        resource_id=resource,
    )
