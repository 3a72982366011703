"""Erasure of a person (LGPD, spec 2.5): blanked in place, everywhere, in one transaction.

**What goes.** Name, phone, e-mail, username and ids of the contact; texts, attachments, errors and the
provider's ids of their messages and threads; titles and tags of their leads; whatever a fact, a run, a
notice or the audit says about them; body and headers of every archived delivery that speaks of them.

**What stays.** The rows, with their times, kinds and states, because history points to them: a turn of the
rotation still says whose it was. Of somebody who was blocked also digests of phone and ids, so that they
stay blocked when they are met again.

**What may run twice.** All of it. The archive is sifted first, without a lock, because that may take
minutes; then one transaction holds the person still, looks at what came since, and blanks everything. A
crash before its commit changed nothing; afterwards there is nobody left to find.

**What is refused.** While a delivery of the person is still being taken in, its promise comes first: 409,
come again.
"""

from portaria.crm.erasure.archive import count_stretches
from portaria.crm.erasure.erase import Erasure, count_erasure, erase_contact
from portaria.crm.erasure.person import find_person_by_phone

__all__ = ["Erasure", "count_erasure", "count_stretches", "erase_contact", "find_person_by_phone"]
