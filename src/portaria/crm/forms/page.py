"""A form's hosted page: in Portuguese or English, without scripts, nothing loaded from elsewhere."""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from portaria.crm.forms.registry import LeadForm
from portaria.crm.forms.submission import TRAP

_STYLE: Final = """
:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;margin:0;padding:1.5rem}
main{max-width:28rem;margin:0 auto}
h1{font-size:1.4rem;line-height:1.25}
label{display:block;margin:0 0 1rem}
input,button{display:block;box-sizing:border-box;width:100%;font:inherit;padding:.6rem .7rem;
margin-top:.25rem;border:1px solid #8888;border-radius:.4rem}
button{background:#1f5fbf;color:#fff;border-color:#1f5fbf;cursor:pointer}
:focus-visible{outline:3px solid #1f5fbf80;outline-offset:1px}
.hint{font-size:.9rem;opacity:.75}
.problems{border:1px solid #b42318;border-radius:.4rem;padding:.6rem .6rem .6rem 1.8rem}
.trap{position:absolute;left:-200vw;width:1px;height:1px;overflow:hidden}
"""

_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()


@dataclass(frozen=True, slots=True)
class Words:
    """What the page says, in one language."""

    lang: str
    name: str
    phone: str
    email: str
    one_of: str
    send: str
    thanks: str
    trap: str
    problems: Mapping[str, str]


_PORTUGUESE: Final = Words(
    "pt-BR", "Nome", "Telefone com DDD", "E-mail", "Preencha o telefone ou o e-mail.", "Enviar",
    "Recebemos seus dados. Obrigado!", "Deixe em branco",
    {
        "name": "Informe o nome.",
        "phone": "Informe o telefone com DDD.",
        "email": "Confira o e-mail.",
        "phone or email": "Informe o telefone ou o e-mail.",
    },
)  # fmt: skip
_ENGLISH: Final = Words(
    "en", "Name", "Phone with area code", "E-mail", "Fill in the phone or the e-mail.", "Send",
    "We have received your details. Thank you!", "Leave empty",
    {
        "name": "Please give your name.",
        "phone": "Please give the phone with its area code.",
        "email": "Please check the e-mail.",
        "phone or email": "Please give the phone or the e-mail.",
    },
)  # fmt: skip

_TEMPLATE: Final = Environment(
    loader=PackageLoader("portaria.crm.forms"), autoescape=True, undefined=StrictUndefined
).get_template("form.html")


def words_for(accept_language: str) -> Words:
    """Portuguese unless English is asked for first."""
    for wanted in accept_language.lower().split(","):
        tag = wanted.partition(";")[0].strip()
        if tag.startswith("pt"):
            return _PORTUGUESE
        if tag.startswith("en"):
            return _ENGLISH
    return _PORTUGUESE


def render(
    form: LeadForm,
    words: Words,
    *,
    values: Mapping[str, object] | None = None,
    problems: Mapping[str, str] | None = None,
    sent: bool = False,
) -> str:
    """The page: empty, with what was wrong, or with thanks. Each empty one has a key of its own, so that
    a double click makes one lead."""
    typed = {name: value if isinstance(value := (values or {}).get(name), str) else "" for name in
             ("name", "phone", "email", "idempotency_key")}  # fmt: skip
    return _TEMPLATE.render(
        form=form, words=words, style=_STYLE, trap=TRAP, sent=sent, values=typed,
        key=typed["idempotency_key"] or secrets.token_urlsafe(16),
        problems=[words.problems.get(field, field) for field in problems or {}],
    )  # fmt: skip


def page_headers(form: LeadForm) -> list[tuple[bytes, bytes]]:
    """No script, no foreign source; the form may go to us, and on to where the business sends people."""
    onward = urlsplit(form.success_url or "")
    target = f" {onward.scheme}://{onward.netloc}" if _plain(onward.netloc) else ""
    policy = (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'{target}; base-uri 'none'"
    )
    return [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", policy.encode("ascii")),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
    ]


def _plain(netloc: str) -> bool:
    return bool(netloc) and netloc.isascii() and not set(netloc) & set("; ,'\"\\")
