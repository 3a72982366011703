"""Requests made and signed beforehand: 1 KiB bodies as the provider sends them, each another message.

`senders` people write in turn; with 0 as in life: every tenth message is from somebody new, the others from
people who wrote before, here or in the history.
"""

import hmac
from datetime import UTC, datetime

from portaria.intake.providers import samples

SIZE = 1024
NEW_EVERY = 10
KNOWN = 400
"""People of the shortest history, numbered from 0."""
_SCATTER = 61_803_399
"""Makes of each person's number a phone with digits as phones have them: counted up they are full of zeros,
and each has the parts of many others. The same in `sql/` and `pgbench/`."""
_ID, _PHONE, _THREAD = "wamid.@@@@@@@@@@@@@@@@@@@@@@@@", "+5511900000000", "thread-0000000"
_TEXT = "Olá, vocês têm horário amanhã à tarde? "
_MORE = "Gostaria de saber o valor da consulta e se ainda tem vaga para sexta-feira de manha, obrigada. "


def external_id(run: str, number: int) -> str:
    """The provider's id of message `number`: 30 characters, the run's name and the number."""
    return f"wamid.{run[:14]:.<14}{number:010d}"


def requests(
    kind: str, path: str, count: int, *, account_id: str, secret: str, run: str, senders: int
) -> list[bytes]:
    """`count` whole HTTP requests. `kind`: zernio (its own headers), sha256, bearer, plain."""
    template, key = _template(account_id), secret.encode()
    head = _head(kind, path, secret, template).encode().split(b"@signature@")
    made = []
    for number in range(count):
        sender = number % senders if senders else _in_life(number)
        body = template.replace(_ID.encode(), external_id(run, number).encode())
        body = body.replace(b"11900000000", b"119%08d" % (sender * _SCATTER % 10**8))
        body = body.replace(b"-0000000", b"-%07d" % sender)
        signature = hmac.digest(key, body, "sha256").hex().encode() if len(head) > 1 else b""
        made.append(signature.join(head) + body)
    return made


def _in_life(number: int) -> int:
    met = KNOWN + number // NEW_EVERY
    return met if number % NEW_EVERY == 0 else number * 7919 % met


def one(account_id: str, run: str, number: int = 0) -> bytes:
    """A single body."""
    return _template(account_id).replace(_ID.encode(), external_id(run, number).encode())


def _template(account_id: str) -> bytes:
    def body(text: str) -> bytes:
        at = datetime.now(UTC)
        sample = samples.message_received(
            account_id, _ID, _PHONE, text, at, name="Cliente Exemplo", conversation_id=_THREAD
        )
        return samples.encode(sample)

    missing = SIZE - len(body(_TEXT))
    return body(_TEXT + (_MORE * 20)[:missing]) if missing > 0 else body(_TEXT)


def _head(kind: str, path: str, secret: str, body: bytes) -> str:
    proof = {
        "sha256": {"X-Signature": "sha256=@signature@"},
        "bearer": {"Authorization": f"Bearer {secret}"},
        "plain": {},
    }
    headers = {"Host": "127.0.0.1", "Content-Length": str(len(body))}
    if kind == "zernio":
        signed = samples.sign(body, secret)
        headers |= {k: "@signature@" if k.endswith("-Signature") else v for k, v in signed.items()}
    else:
        headers |= {"Content-Type": "application/json", "User-Agent": "Zernio-Webhooks/1.0", **proof[kind]}
    return f"POST {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
